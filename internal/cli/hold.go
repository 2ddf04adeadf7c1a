package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
)

// applied applies one command and shows its result.
func applied(ctx context.Context, registry *dibs.Registry, command dibs.Command, show func(dibs.Result) *answer) (*answer, error) {
	results, err := registry.Apply(ctx, command)
	if err != nil {
		return nil, err
	}
	return show(results[0]), nil
}

// holdFlags adds the flags of commands that reserve.
func holdFlags(cmd *cobra.Command, c *dibs.Reserve) {
	flags := cmd.Flags()
	ttlVar(cmd, &c.TTL, "how long the hold lasts (default: the policy's)")
	flags.StringVar(&c.Token, "token", "", "a random `secret` of your own, 16 to 128 characters (default: a new one)")
	entityVar(cmd, &c.Entity, "entity", "the owner-to-be; confirm then accepts no other")
	flags.StringVar(&c.CorrelationID, "correlation-id", "", "kept with the hold and its events")
	metaVar(cmd, &c.Meta, "kept with the hold; repeatable, up to 16 times")
	flags.BoolVar(&c.OverrideReserved, "override-reserved", false, overrideHelp)
}

const overrideHelp = "allow a reserved word; needs the right overrideReserved"

func (s *session) reserve() *cobra.Command {
	var c dibs.Reserve
	cmd := s.command(verb{
		name: "reserve", args: []string{"NAMESPACE", "VALUE"}, group: groupTake,
		short: "Hold a name for a limited time",
		long: `The answer contains the token, which is shown only once. Confirm, extend and release
need it as the proof of the hold. Reserving again with the same --token returns the
same hold: use your own token to repeat the command when its answer is lost.`,
		example: `
dibs reserve slug alice-bob
dibs reserve slug alice-bob --ttl 15m --entity wedding/42 --meta source=shop
dibs reserve slug alice-bob --token "$(openssl rand -hex 16)"
printf %s alice@example.com | dibs reserve email -`,
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			c.Namespace, c.Value = args[0], args[1]
			return applied(ctx, registry, c, oneName)
		},
	})
	holdFlags(cmd, &c)
	return cmd
}

func (s *session) reserveFirst() *cobra.Command {
	var c dibs.Reserve
	cmd := s.command(verb{
		name: "reserve-first", args: []string{"NAMESPACE", "VALUE..."}, group: groupTake,
		short: "Hold the first of several names that is available",
		long:  "Up to 32 values, best first. With the --token of a hold on one of them, the answer is\nthat hold.",
		example: `
dibs reserve-first slug alice-bob alice-and-bob bob-alice
dibs reserve-first slug - < candidates.txt`,
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			return applied(ctx, registry, dibs.ReserveFirst{
				Namespace: args[0], Values: args[1:], TTL: c.TTL, Token: c.Token, Entity: c.Entity,
				CorrelationID: c.CorrelationID, Meta: c.Meta, OverrideReserved: c.OverrideReserved,
			}, oneName)
		},
	})
	holdFlags(cmd, &c)
	return cmd
}

// onHold returns a command with a reservation id and its token.
func (s *session) onHold(v verb, command func(id dibs.ID, token string) dibs.Command) *cobra.Command {
	var token string
	var id dibs.ID
	v.args, v.group = []string{"ID"}, groupTake
	v.before = func(args []string) (err error) {
		if token = cmp.Or(token, s.Getenv("DIBS_TOKEN")); token == "" {
			return usage("the token of the hold is missing: use --token, or set DIBS_TOKEN")
		}
		id, err = dibs.ParseID(args[0])
		return err
	}
	v.do = func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
		return applied(ctx, registry, command(id, token), oneName)
	}
	cmd := s.command(v)
	cmd.Flags().StringVar(&token, "token", "", "the `token` that reserve returned (or DIBS_TOKEN)")
	return cmd
}

func (s *session) confirm() *cobra.Command {
	var c dibs.Confirm
	cmd := s.onHold(verb{
		name:  "confirm",
		short: "Make a held name the active name of an entity",
		example: `
dibs confirm res_… --token … --entity wedding/42
dibs confirm res_… --token … --entity wedding/42 --replace
dibs confirm res_… --token … --entity user/7 --replaces old@example.com`,
	}, func(id dibs.ID, token string) dibs.Command {
		c.ID, c.Token = id, token
		return c
	})
	requiredEntityVar(cmd, &c.Entity, "entity", "the owner")
	cmd.Flags().BoolVar(&c.Replace, "replace", false, "make the entity's present name an alias of this one")
	cmd.Flags().StringVar(&c.Replaces, "replaces", "", "the `value` to replace, if an entity may have many names")
	return cmd
}

func (s *session) extend() *cobra.Command {
	var ttl dibs.TTL
	cmd := s.onHold(verb{
		name:    "extend",
		short:   "Move the end of a hold",
		long:    "The hold then lasts for --ttl from now, but not longer in total than the policy\nallows. It never becomes shorter.",
		example: "dibs extend res_… --token … --ttl 10m",
	}, func(id dibs.ID, token string) dibs.Command {
		return dibs.Extend{ID: id, Token: token, TTL: ttl}
	})
	ttlVar(cmd, &ttl, "how long from now (default: the policy's)")
	return cmd
}

func (s *session) release() *cobra.Command {
	return s.onHold(verb{
		name:    "release",
		short:   "Release a hold: the name is free at once",
		example: "dibs release res_… --token …",
	}, func(id dibs.ID, token string) dibs.Command {
		return dibs.Release{ID: id, Token: token}
	})
}
