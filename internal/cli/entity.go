package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *session) entity() *cobra.Command {
	var scope string
	var entity dibs.Entity
	cmd := s.command(verb{
		name: "entity", args: []string{"TYPE/ID"}, group: groupEntity,
		short: "Show an entity with its names and its version",
		example: `
dibs entity wedding/42
dibs entity user/7 --scope acme`,
		before: func(args []string) (err error) {
			if entity, err = parseEntity(args[0]); err != nil {
				return usage("%w", err)
			}
			return nil
		},
		do: func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
			return converted(wire.EntityInfoOf, (*printer).entity)(registry.Entity(ctx, scope, entity))
		},
	})
	scopeVar(cmd, &scope)
	return cmd
}

func (p *printer) entity(info dibs.EntityInfo) {
	archived := ""
	if info.Archived {
		archived = "yes: its names stay reserved and do not resolve"
	}
	p.fields(
		[2]string{"entity", info.Entity.String()},
		[2]string{"scope", info.Scope},
		[2]string{"version", number(info.Version)},
		[2]string{"archived", archived},
	)
	p.line("")
	if len(info.Names) == 0 {
		p.line("It has no names.")
		return
	}
	p.names(info.Names)
	if info.More {
		p.line("There are more: dibs list --namespace …")
	}
}

func scopeVar(cmd *cobra.Command, scope *string) {
	cmd.Flags().StringVar(scope, "scope", "", "the entity's `scope`: the part of its namespaces before the last dot, acme for acme.slug")
}

// onEntity returns a command on all names of an entity. Done is the label of the result.
func (s *session) onEntity(v verb, done string, command func(scope string, entity dibs.Entity) dibs.Command) *cobra.Command {
	var scope string
	var entity dibs.Entity
	v.group = groupEntity
	v.do = func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
		return applied(ctx, registry, command(scope, entity), func(r dibs.Result) *answer {
			return &answer{wire.ResultOf(r), func(p *printer) { p.result(r, [2]string{done, entity.String()}) }}
		})
	}
	cmd := s.command(v)
	requiredEntityVar(cmd, &entity, "entity", "the entity")
	scopeVar(cmd, &scope)
	return cmd
}

func (s *session) archive() *cobra.Command {
	return s.onEntity(verb{
		name: "archive", short: "Soft delete: every name of an entity stays reserved and none resolves",
		example: "dibs archive --entity wedding/42",
	}, "archived", func(scope string, entity dibs.Entity) dibs.Command { return dibs.Archive{Scope: scope, Entity: entity} })
}

func (s *session) restore() *cobra.Command {
	return s.onEntity(verb{
		name: "restore", short: "Undo an archive",
		example: "dibs restore --entity wedding/42",
	}, "restored", func(scope string, entity dibs.Entity) dibs.Command { return dibs.Restore{Scope: scope, Entity: entity} })
}

func (s *session) delete() *cobra.Command {
	return s.onEntity(verb{
		name: "delete", short: "Hard delete: every name of an entity becomes quarantined or free",
		long: `It gives up active names and aliases in every namespace of the scope; each policy
says whether they are quarantined. If an entity has more than 32 names, sweeps give up
the rest. From now on none of them resolves.`,
		example: "dibs delete --entity wedding/42",
	}, "deleted", func(scope string, entity dibs.Entity) dibs.Command { return dibs.Delete{Scope: scope, Entity: entity} })
}
