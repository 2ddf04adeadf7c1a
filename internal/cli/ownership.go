package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
)

func (s *session) claim() *cobra.Command {
	var c dibs.Claim
	cmd := s.command(verb{
		name: "claim", args: []string{"NAMESPACE", "VALUE"}, group: groupTake,
		short:   "Take a free name for an entity at once",
		long:    "Reserve and confirm in one step, for an entity that exists already.",
		example: "dibs claim slug alice-bob --entity wedding/42",
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			c.Namespace, c.Value = args[0], args[1]
			return applied(ctx, registry, c, oneName)
		},
	})
	requiredEntityVar(cmd, &c.Entity, "entity", "the owner")
	cmd.Flags().StringVar(&c.CorrelationID, "correlation-id", "", "kept with the name and its events")
	metaVar(cmd, &c.Meta, "kept with the name; repeatable, up to 16 times")
	cmd.Flags().BoolVar(&c.OverrideReserved, "override-reserved", false, overrideHelp)
	return cmd
}

func (s *session) rename() *cobra.Command {
	var c dibs.Rename
	cmd := s.command(verb{
		name: "rename", args: []string{"NAMESPACE", "VALUE"}, group: groupOwn,
		short: "Give an entity another name; the present one becomes an alias",
		long: `VALUE is the new name: free, held with --token, or an alias of the entity. An entity
without a name in the namespace claims it.`,
		example: `
dibs rename slug alice-and-bob --entity wedding/42
dibs rename slug alice-and-bob --entity wedding/42 --if-version 3
dibs rename email new@example.com --entity user/7 --from old@example.com`,
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			c.Namespace, c.Value = args[0], args[1]
			return applied(ctx, registry, c, oneName)
		},
	})
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
	cmd := s.command(verb{
		name: "transfer", args: []string{"NAMESPACE", "VALUE"}, group: groupOwn,
		short:   "Give one name of an entity to another entity",
		long:    "The name is never free in between. The receiver must have no name in the namespace.",
		example: "dibs transfer slug alice-bob --from wedding/42 --to wedding/43",
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			c.Namespace, c.Value = args[0], args[1]
			return applied(ctx, registry, c, oneName)
		},
	})
	requiredEntityVar(cmd, &c.From, "from", "the present owner")
	requiredEntityVar(cmd, &c.To, "to", "the new owner")
	return cmd
}

func (s *session) swap() *cobra.Command {
	var c dibs.Swap
	return s.command(verb{
		name: "swap", args: []string{"NAMESPACE", "NAME=ENTITY", "NAME=ENTITY"}, group: groupOwn,
		short: "Exchange the active names of two entities",
		long: `Each argument is a name with its present owner. The first = ends the name; to swap
names that contain a =, use apply.`,
		example: "dibs swap slug alice=user/1 bob=user/2",
		before: func(args []string) (err error) {
			c.Namespace = args[0]
			if c.A, err = parseNamed(args[1]); err == nil {
				c.B, err = parseNamed(args[2])
			}
			return err
		},
		do: func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
			return applied(ctx, registry, c, manyNames)
		},
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
	cmd := s.command(verb{
		name: "decommission", args: []string{"NAMESPACE", "VALUE"}, group: groupOwn,
		short:   "Give up one name of an entity, active or alias",
		long:    "It becomes quarantined or free, as the policy says.",
		example: "dibs decommission slug alice-bob --entity wedding/42",
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			c.Namespace, c.Value = args[0], args[1]
			return applied(ctx, registry, c, oneName)
		},
	})
	requiredEntityVar(cmd, &c.Entity, "entity", "the owner")
	return cmd
}
