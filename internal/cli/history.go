package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *session) history() *cobra.Command {
	var query dibs.HistoryQuery
	cmd := s.command(verb{
		name: "history", args: []string{"NAMESPACE", "VALUE"}, group: groupQuery,
		short: "Show what happened to a name, oldest first",
		long: `It shows all events. With --limit it shows the last ones, and prints a --cursor for
those before them.`,
		example: `
dibs history slug alice-bob
dibs history slug alice-bob --limit 10`,
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			query.Namespace, query.Value = args[0], args[1]
			return converted(func(history dibs.HistoryPage) wire.EventsPage {
				return wire.EventsPage{Events: wire.EventsOf(history.Events), NextCursor: history.Next}
			}, (*printer).history)(readHistory(ctx, registry, query))
		},
	})
	flags := cmd.Flags()
	flags.IntVar(&query.Limit, "limit", 0, "how `many`, at most 1,000 (default all)")
	flags.StringVar(&query.Cursor, "cursor", "", "the events before the page with this `cursor`")
	return cmd
}

// readHistory returns one page, or without limit and cursor all events.
func readHistory(ctx context.Context, registry *dibs.Registry, query dibs.HistoryQuery) (dibs.HistoryPage, error) {
	if query.Limit != 0 || query.Cursor != "" {
		return registry.HistoryPage(ctx, query)
	}
	events, err := registry.History(ctx, query.Namespace, query.Value)
	return dibs.HistoryPage{Events: events}, err
}

func (p *printer) history(history dibs.HistoryPage) {
	rows := make([][]string, len(history.Events))
	for i, e := range history.Events {
		rows[i] = []string{
			date(e.At.Time()), string(e.Kind), string(e.After.State), owner(e.Entity),
			p.moment(e.After.Until.Time()), number(e.Epoch), e.Actor, e.CorrelationID,
		}
	}
	p.list("No events.", []string{"at", "event", "state", "entity", "until", "epoch", "by", "correlation"}, rows)
	p.next("There are older events: use", history.Next)
}

func (s *session) whoHeld() *cobra.Command {
	var at time.Time
	cmd := s.command(verb{
		name: "who-held", args: []string{"NAMESPACE", "VALUE"}, group: groupQuery,
		short: "Show the owner of a name at a moment",
		long:  "A date means its start, in UTC.",
		example: `
dibs who-held slug alice-bob --at 2026-03-01
dibs who-held slug alice-bob --at 2026-03-01T15:04:05Z`,
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			holder, err := registry.WhoHeld(ctx, args[0], args[1], at)
			if err != nil {
				return nil, err
			}
			document := map[string]wire.Holder{"holder": wire.HolderOf(holder)}
			return &answer{document, func(p *printer) {
				p.fields(
					[2]string{"at", date(at)},
					[2]string{"state", string(holder.State)},
					[2]string{"entity", owner(holder.Entity)},
					[2]string{"epoch", number(holder.Epoch)},
					[2]string{"since", date(holder.Since)},
				)
			}}, nil
		},
	})
	timeVar(cmd, &at, "at", "the moment: 2026-03-01, or with a time of day")
	must(cmd.MarkFlagRequired("at"))
	return cmd
}

func join(words []string) string { return strings.Join(words, ", ") }
