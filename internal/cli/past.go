package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *session) history() *cobra.Command {
	return s.command(verb{
		name: "history", args: []string{"NAMESPACE", "VALUE"}, group: groupLook,
		short:   "Show everything that happened to a name, oldest first",
		example: "dibs history slug alice-bob",
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			events, err := registry.History(ctx, args[0], args[1])
			if err != nil {
				return nil, err
			}
			return &answer{wire.EventsPage{Events: wire.EventsOf(events)}, func(p *page) { p.history(events) }}, nil
		},
	})
}

func (p *page) history(events []dibs.Event) {
	if len(events) == 0 {
		p.line("Nothing happened to it yet.")
		return
	}
	rows := make([][]string, len(events))
	for i, e := range events {
		rows[i] = []string{
			date(e.At.Time()), string(e.Kind), string(e.After.State), owner(e.Entity),
			p.moment(e.After.Until.Time()), number(e.Epoch), e.Actor, e.CorrelationID,
		}
	}
	p.table([]string{"at", "event", "state", "entity", "until", "epoch", "by", "correlation"}, rows)
}

func (s *session) whoHeld() *cobra.Command {
	var at momentFlag
	cmd := s.command(verb{
		name: "who-held", args: []string{"NAMESPACE", "VALUE"}, group: groupLook,
		short: "Say who had a name at a moment",
		long:  "A date means its beginning, in UTC.",
		example: `
dibs who-held slug alice-bob --at 2026-03-01
dibs who-held slug alice-bob --at 2026-03-01T15:04:05Z`,
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			holder, err := registry.WhoHeld(ctx, args[0], args[1], at.Time)
			if err != nil {
				return nil, err
			}
			document := map[string]wire.Holder{"holder": wire.HolderOf(holder)}
			return &answer{document, func(p *page) {
				p.fields(
					[2]string{"at", date(at.Time)},
					[2]string{"state", string(holder.State)},
					[2]string{"entity", owner(holder.Entity)},
					[2]string{"epoch", number(holder.Epoch)},
					[2]string{"since", date(holder.Since)},
				)
			}}, nil
		},
	})
	cmd.Flags().Var(&at, "at", "the moment: 2026-03-01, or with a time of day")
	must(cmd.MarkFlagRequired("at"))
	return cmd
}

func join(words []string) string { return strings.Join(words, ", ") }
