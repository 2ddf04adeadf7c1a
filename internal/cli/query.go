package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *session) check() *cobra.Command {
	var request dibs.CheckRequest
	cmd := s.command(verb{
		name: "check", args: []string{"NAMESPACE", "VALUE..."}, group: groupQuery,
		short: "Check whether names could be reserved, and if not why",
		long: `Up to 100 values. The answer is a snapshot, not a promise: to get a name, reserve it.
The exit code is 3 if one of them is not available.`,
		example: `
dibs check slug alice-bob
dibs check slug alice --suggest 5 --part smith --part berlin
dibs check slug - < candidates.txt`,
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			request.Namespace, request.Values = args[0], args[1:]
			list, err := registry.Check(ctx, request)
			if err != nil {
				return nil, err
			}
			return availability(list)
		},
	})
	flags := cmd.Flags()
	flags.IntVar(&request.Suggest, "suggest", 0, "offer this `many` free names for each that is not available, at most 10")
	flags.StringArrayVar(&request.Parts, "part", nil, "`text` for suggestions; repeatable, up to 8 times")
	entityVar(cmd, &request.Entity, "entity", "the owner-to-be; a name in quarantine is available to its last owner")
	return cmd
}

func availability(list []dibs.Availability) (*answer, error) {
	var document struct {
		Results []wire.Availability `json:"results"`
	}
	var err error
	for _, a := range list {
		document.Results = append(document.Results, wire.AvailabilityOf(a))
		if !a.Available {
			err = exitError{ExitTaken}
		}
	}
	return &answer{document, func(p *printer) {
		var rows [][]string
		for _, a := range list {
			rows = append(rows, p.availability(a))
		}
		p.table([]string{"value", "name", "available", "why", "until", "suggestions"}, rows)
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
	return s.command(verb{
		name: "resolve", args: []string{"NAMESPACE", "VALUE"}, group: groupQuery,
		short:   "Resolve a name",
		long:    "The answer is the present name, even after several renames. The exit code is 4 if the\nname does not resolve.",
		example: "dibs resolve slug alice-bob",
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			r, err := registry.Resolve(ctx, args[0], args[1])
			if err != nil {
				return nil, err
			}
			if r.Outcome == dibs.ResolveNotFound || r.Outcome == dibs.ResolveGone {
				err = exitError{ExitNotFound}
			}
			return &answer{wire.ResolutionOf(r), func(p *printer) { p.resolution(args[0], r) }}, err
		},
	})
}

func (p *printer) resolution(namespace string, r dibs.Resolution) {
	to := ""
	if r.To != nil {
		to = r.To.Key()
	}
	p.fields(
		[2]string{"name", namespace + ":" + r.Canonical},
		[2]string{"outcome", string(r.Outcome)},
		[2]string{"to", to},
		[2]string{"entity", owner(r.Entity)},
		[2]string{"status", number(uint64(r.Status))},
	)
}

func (s *session) get() *cobra.Command {
	cmd := s.command(verb{
		name: "get", args: []string{"ID|NAMESPACE", "[VALUE]"}, group: groupQuery,
		short: "Show a name, by reservation id or by namespace and value",
		example: `
dibs get res_…
dibs get slug alice-bob`,
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			lookup := dibs.Lookup{Version: true}
			var err error
			if len(args) == 2 {
				lookup.Namespace, lookup.Value = args[0], args[1]
			} else if lookup.ID, err = dibs.ParseID(args[0]); err != nil {
				return nil, err
			}
			return converted(wire.NameOf, func(p *printer, name dibs.Name) { p.name(name) })(registry.Get(ctx, lookup))
		},
	})
	cmd.Use = "get (ID | NAMESPACE VALUE)"
	return cmd
}
