package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *session) check() *cobra.Command {
	var request dibs.CheckRequest
	cmd := s.onRegistry("check", func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
		request.Namespace, request.Values = args[0], args[1:]
		list, err := registry.Check(ctx, request)
		if err != nil {
			return nil, err
		}
		return availability(list)
	})
	flags := cmd.Flags()
	flags.IntVar(&request.Suggest, "suggest", 0, "offer this `many` free names for each that is not available, at most 10")
	flags.StringArrayVar(&request.Parts, "part", nil, "`text` for suggestions; repeatable, up to 8 times")
	entityVar(cmd, &request.Entity, "entity", "the owner-to-be; a name in quarantine is available to its last owner")
	return cmd
}

func availability(list []dibs.Availability) (answered *answer, err error) {
	if slices.ContainsFunc(list, func(a dibs.Availability) bool { return !a.Available }) {
		err = exitError{ExitTaken}
	}
	document := map[string][]wire.Availability{"results": wire.ListOf(list, wire.AvailabilityOf)}
	return &answer{document, func(p *printer) {
		p.table([]string{"value", "name", "available", "why", "until", "suggestions"}, wire.ListOf(list, p.availability))
	}}, err
}

func (p *printer) availability(a dibs.Availability) []string {
	if a.Available {
		return []string{a.Value, a.Canonical, "yes", "", "", ""}
	}
	why := string(a.Reason)
	if a.Refusal != nil {
		why += ": " + a.Refusal.Problem
	}
	suggestions := a.Suggestions
	if len(suggestions) == 0 && a.Refusal != nil && a.Refusal.Try != "" {
		suggestions = []string{a.Refusal.Try}
	}
	return []string{a.Value, a.Canonical, "no", why, p.moment(a.Until), strings.Join(suggestions, ", ")}
}

func (s *session) resolve() *cobra.Command {
	return s.onRegistry("resolve", func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
		r, err := registry.Resolve(ctx, args[0], args[1])
		if err != nil {
			return nil, err
		}
		if r.Outcome == dibs.ResolveNotFound || r.Outcome == dibs.ResolveGone {
			err = exitError{ExitNotFound}
		}
		return &answer{wire.ResolutionOf(r), func(p *printer) { p.resolution(args[0], r) }}, err
	})
}

func (p *printer) resolution(namespace string, r dibs.Resolution) {
	to := ""
	if r.To != nil {
		to = r.To.Key()
	}
	archived := ""
	if r.Archived {
		archived = "yes: the name stays taken; its entity can be restored"
	}
	p.fields(
		[2]string{"name", namespace + ":" + r.Canonical},
		[2]string{"outcome", string(r.Outcome)},
		[2]string{"archived", archived},
		[2]string{"to", to},
		[2]string{"entity", owner(r.Entity)},
		[2]string{"status", number(uint64(r.Status))},
	)
}

func (s *session) get() *cobra.Command {
	cmd := s.onRegistry("get", func(ctx context.Context, registry *dibs.Registry, args []string) (_ *answer, err error) {
		lookup := dibs.Lookup{Version: true}
		if len(args) == 2 {
			lookup.Namespace, lookup.Value = args[0], args[1]
		} else if lookup.ID, err = dibs.ParseID(args[0]); err != nil {
			return nil, err
		}
		return converted(wire.NameOf, func(p *printer, name dibs.Name) { p.name(name) })(registry.Get(ctx, lookup))
	})
	cmd.Use = "get (ID | NAMESPACE VALUE)"
	return cmd
}

func (s *session) entity() *cobra.Command {
	var scope string
	cmd := s.command("entity", func(ctx context.Context, args []string) (*answer, error) {
		entity, err := parseEntity(args[0])
		if err != nil {
			return nil, usage("%w", err)
		}
		return s.withRegistry(ctx, func(registry *dibs.Registry) (*answer, error) {
			return converted(wire.EntityInfoOf, (*printer).entity)(registry.Entity(ctx, scope, entity))
		})
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

func (s *session) stats() *cobra.Command {
	var query dibs.ConflictsQuery
	cmd := s.onRegistry("stats", func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
		names, err := registry.Stats(ctx)
		if err != nil {
			return nil, err
		}
		// Holds that end soon are counted for all namespaces together.
		names.Names = slices.DeleteFunc(slices.Clone(names.Names), func(c dibs.NameCount) bool {
			return query.Namespace != "" && c.Namespace != query.Namespace
		})
		refused, err := registry.Conflicts(ctx, query)
		if err != nil {
			return nil, err
		}
		return counted(names, refused), nil
	})
	s.namespaceVar(cmd, &query.Namespace, "only this `namespace`")
	cmd.Flags().Var(parsedFlag{"time", func(text string) (err error) {
		query.From, err = parseSince(text, s.Now())
		return err
	}}, "since", "only conflicts since then: 24h, 7d or 2026-03-01")
	return cmd
}

// counted returns the answer of stats.
func counted(names dibs.Stats, refused []dibs.ConflictBucket) *answer {
	document := struct {
		wire.Stats
		Buckets []wire.ConflictBucket `json:"buckets"`
	}{wire.StatsOf(names, time.Time{}), wire.ListOf(refused, wire.ConflictBucketOf)}
	return &answer{document, func(p *printer) {
		p.nameCounts(names)
		p.line("")
		p.refused(refused)
	}}
}

func (p *printer) nameCounts(stats dibs.Stats) {
	p.list("No names.", []string{"namespace", "state", "names"}, wire.ListOf(stats.Names, func(c dibs.NameCount) []string {
		return []string{c.Namespace, string(c.State), strconv.Itoa(c.Count)}
	}))
	if stats.EndingSoon > 0 {
		p.line("")
		p.line("%s within a minute, in all namespaces", count(stats.EndingSoon, "hold ends", "holds end"))
	}
}

func (p *printer) refused(buckets []dibs.ConflictBucket) {
	total := 0
	rows := make([][]string, len(buckets))
	for i, b := range buckets {
		rows[i] = []string{date(b.Start), b.Namespace, b.Reason, number(b.Count)}
		total += int(b.Count)
	}
	if total > 0 {
		p.table([]string{"hour", "namespace", "reason", "refused"}, rows)
		p.line("")
	}
	p.line("%s", count(total, "conflict", "conflicts"))
}
