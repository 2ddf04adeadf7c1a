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
			info, err := registry.Entity(ctx, scope, entity)
			if err != nil {
				return nil, err
			}
			return &answer{wire.EntityInfoOf(info), func(p *page) { p.entity(info) }}, nil
		},
	})
	scopeVar(cmd, &scope)
	return cmd
}

func (p *page) entity(info dibs.EntityInfo) {
	archived := ""
	if info.Archived {
		archived = "yes: its names stay reserved, none resolves"
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
	cmd.Flags().StringVar(scope, "scope", "", "what stands before the last dot of its namespaces: acme for acme.slug")
}

// onEntity makes a command on everything that an entity has. Done is the word for what
// became of it.
func (s *session) onEntity(v verb, done string, command func(scope string, entity dibs.Entity) dibs.Command) *cobra.Command {
	var scope string
	var entity entityFlag
	v.group = groupEntity
	v.do = func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
		return applied(ctx, registry, command(scope, entity.Entity), func(r dibs.Result) *answer {
			return &answer{wire.ResultOf(r), func(p *page) { p.result(r, [2]string{done, entity.Entity.String()}) }}
		})
	}
	cmd := s.command(v)
	entityVar(cmd, &entity, "which one")
	scopeVar(cmd, &scope)
	return cmd
}

func (s *session) archive() *cobra.Command {
	return s.onEntity(verb{
		name: "archive", short: "Soft delete: every name of an entity stays reserved, none resolves",
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
		long: `Names and aliases in every namespace of the scope, as each policy says. Of an
entity with more than 32 names the rest follows by sweeping; none of them resolves
from the first moment.`,
		example: "dibs delete --entity wedding/42",
	}, "deleted", func(scope string, entity dibs.Entity) dibs.Command { return dibs.Delete{Scope: scope, Entity: entity} })
}
