package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
)

// change returns a command that applies one command of the registry. It checks the arguments
// before it opens the registry.
func (s *session) change(
	path string, show func(dibs.Result) *answer, command func(args []string) (dibs.Command, error),
) *cobra.Command {
	return s.changeAfter(func(context.Context, *dibs.Registry, dibs.Command) error { return nil }, path, show, command)
}

// changeAfter is change with a step before the command, which may refuse it.
func (s *session) changeAfter(
	before func(context.Context, *dibs.Registry, dibs.Command) error,
	path string, show func(dibs.Result) *answer, command func(args []string) (dibs.Command, error),
) *cobra.Command {
	return s.command(path, func(ctx context.Context, args []string) (*answer, error) {
		c, err := command(args)
		if err != nil {
			return nil, err
		}
		return s.withRegistry(ctx, func(registry *dibs.Registry) (*answer, error) {
			if err := before(ctx, registry, c); err != nil {
				return nil, err
			}
			results, err := registry.Apply(ctx, c)
			if err != nil {
				return nil, err
			}
			return show(results[0]), nil
		})
	})
}

// destroy is change for a command that gives up names. On a terminal it first shows what would
// happen, by the plan of a dry run, and asks; an empty plan needs no question.
func (s *session) destroy(
	path string, show func(dibs.Result) *answer, plan func(dibs.Result) string, command func(args []string) (dibs.Command, error),
) *cobra.Command {
	var yes bool
	cmd := s.changeAfter(func(ctx context.Context, registry *dibs.Registry, c dibs.Command) error {
		if yes || !s.interactive() {
			return nil
		}
		results, err := registry.DryRun(ctx, c)
		if err != nil || results[0].Replayed {
			return err
		}
		if text := plan(results[0]); text != "" {
			return s.confirmed(text)
		}
		return nil
	}, path, show, command)
	yesVar(cmd, &yes)
	return cmd
}

// givenUp describes what becomes of the names in the result of a dry run.
func givenUp(what string, r dibs.Result) string {
	lines := []string{what}
	for _, n := range r.Names {
		lines = append(lines, "  "+n.Key()+" becomes "+string(n.State))
	}
	for _, key := range r.Freed {
		lines = append(lines, "  "+key+" becomes free")
	}
	for _, key := range r.Quarantined {
		lines = append(lines, "  "+key+" becomes quarantined")
	}
	if r.Pending {
		lines = append(lines, "  and more names, in sweeps")
	}
	return strings.Join(lines, "\n")
}

// onName returns a command on the name NAMESPACE VALUE, which it sets first.
func (s *session) onName(path string, namespace, value *string, command func() dibs.Command) *cobra.Command {
	return s.change(path, oneName, func(args []string) (dibs.Command, error) {
		*namespace, *value = args[0], args[1]
		return command(), nil
	})
}

// onHold returns a command on the reservation ID with its token, which it sets first.
func (s *session) onHold(path string, id *dibs.ID, token *string, command func() dibs.Command) *cobra.Command {
	cmd := s.change(path, oneName, func(args []string) (_ dibs.Command, err error) {
		if *token = cmp.Or(*token, s.Getenv("DIBS_TOKEN")); *token == "" {
			return nil, usage("the token of the hold is missing: use --token, or set DIBS_TOKEN")
		}
		*id, err = dibs.ParseID(args[0])
		return command(), err
	})
	cmd.Flags().StringVar(token, "token", "", "the `token` that reserve returned (or DIBS_TOKEN)")
	return cmd
}

// onEntity returns a command on all names of an entity. Done is the label of the result.
func (s *session) onEntity(path, done string, command func(dibs.Archive) dibs.Command) *cobra.Command {
	var c dibs.Archive
	cmd := s.change(path, func(r dibs.Result) *answer {
		return manyNames(r, [2]string{done, c.Entity.String()})
	}, func([]string) (dibs.Command, error) { return command(c), nil })
	requiredEntityVar(cmd, &c.Entity, "entity", "the entity")
	scopeVar(cmd, &c.Scope)
	return cmd
}

func (s *session) archive() *cobra.Command {
	return s.onEntity("archive", "archived", func(c dibs.Archive) dibs.Command { return c })
}

func (s *session) restore() *cobra.Command {
	cmd := s.onEntity("restore", "restored", func(c dibs.Archive) dibs.Command { return dibs.Restore(c) })
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err != nil { // a file: it sounds like the opposite of dibs backup
			err = fmt.Errorf("%w\n  it undoes dibs archive; to restore a backup, see docs/backups.md", err)
		}
		return err
	}
	return cmd
}

func (s *session) delete() *cobra.Command {
	var c dibs.Delete
	cmd := s.destroy("delete", func(r dibs.Result) *answer {
		return manyNames(r, [2]string{"deleted", c.Entity.String()})
	}, func(r dibs.Result) string {
		return givenUp("This gives up every name of "+c.Entity.String()+":", r)
	}, func([]string) (dibs.Command, error) { return c, nil })
	requiredEntityVar(cmd, &c.Entity, "entity", "the entity")
	scopeVar(cmd, &c.Scope)
	return cmd
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
	cmd := s.onName("reserve", &c.Namespace, &c.Value, func() dibs.Command { return c })
	holdFlags(cmd, &c)
	return cmd
}

func (s *session) reserveFirst() *cobra.Command {
	var c dibs.Reserve
	cmd := s.change("reserve-first", oneName, func(args []string) (dibs.Command, error) {
		return dibs.ReserveFirst{
			Namespace: args[0], Values: args[1:], TTL: c.TTL, Token: c.Token, Entity: c.Entity,
			CorrelationID: c.CorrelationID, Meta: c.Meta, OverrideReserved: c.OverrideReserved,
		}, nil
	})
	holdFlags(cmd, &c)
	return cmd
}

func (s *session) confirm() *cobra.Command {
	var c dibs.Confirm
	cmd := s.onHold("confirm", &c.ID, &c.Token, func() dibs.Command { return c })
	requiredEntityVar(cmd, &c.Entity, "entity", "the owner")
	cmd.Flags().BoolVar(&c.Replace, "replace", false, "make the entity's present name an alias of this one")
	cmd.Flags().StringVar(&c.Replaces, "replaces", "", "the `value` to replace, if an entity may have many names")
	return cmd
}

func (s *session) extend() *cobra.Command {
	var c dibs.Extend
	cmd := s.onHold("extend", &c.ID, &c.Token, func() dibs.Command { return c })
	ttlVar(cmd, &c.TTL, "how long from now (default: the policy's)")
	return cmd
}

func (s *session) release() *cobra.Command {
	var c dibs.Release
	return s.onHold("release", &c.ID, &c.Token, func() dibs.Command { return c })
}

func (s *session) claim() *cobra.Command {
	var c dibs.Claim
	cmd := s.onName("claim", &c.Namespace, &c.Value, func() dibs.Command { return c })
	requiredEntityVar(cmd, &c.Entity, "entity", "the owner")
	cmd.Flags().StringVar(&c.CorrelationID, "correlation-id", "", "kept with the name and its events")
	metaVar(cmd, &c.Meta, "kept with the name; repeatable, up to 16 times")
	cmd.Flags().BoolVar(&c.OverrideReserved, "override-reserved", false, overrideHelp)
	return cmd
}

func (s *session) rename() *cobra.Command {
	var c dibs.Rename
	cmd := s.onName("rename", &c.Namespace, &c.Value, func() dibs.Command { return c })
	requiredEntityVar(cmd, &c.Entity, "entity", "the owner")
	flags := cmd.Flags()
	flags.StringVar(&c.From, "from", "", "the `value` to replace, if an entity may have many names")
	flags.StringVar(&c.Token, "token", "", "the `token` of a hold on the new name")
	flags.Uint64Var(&c.IfVersion, "if-version", 0, "refuse unless this is the entity's `version` (default: any)")
	flags.StringVar(&c.CorrelationID, "correlation-id", "", "kept with the name and its events")
	flags.BoolVar(&c.OverrideReserved, "override-reserved", false, overrideHelp)
	return cmd
}

func (s *session) transfer() *cobra.Command {
	var c dibs.Transfer
	cmd := s.onName("transfer", &c.Namespace, &c.Value, func() dibs.Command { return c })
	requiredEntityVar(cmd, &c.From, "from", "the present owner")
	requiredEntityVar(cmd, &c.To, "to", "the new owner")
	return cmd
}

// handOver returns the command that gives a name to another entity, and its line for a shell.
func handOver(namespace, value string, from, to dibs.Entity) (line string, command dibs.Command) {
	line = fmt.Sprintf("transfer %s %s --from %s --to %s", namespace, shellWord(value), shellWord(from.String()), shellWord(to.String()))
	return line, dibs.Transfer{Namespace: namespace, Value: value, From: from, To: to}
}

func (s *session) swap() *cobra.Command {
	show := func(r dibs.Result) *answer { return manyNames(r) }
	return s.change("swap", show, func(args []string) (dibs.Command, error) {
		a, err := parseNamed(args[1])
		if err != nil {
			return nil, err
		}
		b, err := parseNamed(args[2])
		return dibs.Swap{Namespace: args[0], A: a, B: b}, err
	})
}

// parseNamed parses name=type/id.
func parseNamed(text string) (dibs.Named, error) {
	value, owner, ok := strings.Cut(text, "=")
	if !ok || value == "" {
		return dibs.Named{}, usage("write a name and its owner as name=type/id, such as alice=user/1")
	}
	entity, err := parseEntity(owner)
	if err != nil {
		return dibs.Named{}, usage("the owner of %q: %w", value, err)
	}
	return dibs.Named{Value: value, Entity: entity}, nil
}

func (s *session) decommission() *cobra.Command {
	var c dibs.Decommission
	cmd := s.destroy("decommission", oneName, func(r dibs.Result) string {
		return givenUp("This gives up a name of "+c.Entity.String()+":", r)
	}, func(args []string) (dibs.Command, error) {
		c.Namespace, c.Value = args[0], args[1]
		return c, nil
	})
	requiredEntityVar(cmd, &c.Entity, "entity", "the owner")
	return cmd
}

func (s *session) settle() *cobra.Command {
	var exists dibs.Entity
	var absent bool
	cmd := s.destroy("settle", oneName, func(r dibs.Result) string {
		if !absent {
			return ""
		}
		return givenUp("This ends a hold whose entity may have been saved:", r)
	}, func(args []string) (dibs.Command, error) {
		if exists.IsZero() != absent {
			return nil, usage("use one of --exists type/id and --absent")
		}
		verdict := dibs.Exists(exists)
		if absent {
			verdict = dibs.Absent
		}
		id, err := dibs.ParseID(args[0])
		return dibs.Settle{ID: id, Verdict: verdict}, err
	})
	entityVar(cmd, &exists, "exists", "the entity that was saved")
	cmd.Flags().BoolVar(&absent, "absent", false, "the entity was not saved, and never will be")
	return cmd
}
