package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *session) history() *cobra.Command {
	var query dibs.HistoryQuery
	cmd := s.onRegistry("history", func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
		query.Namespace, query.Value = args[0], args[1]
		return converted(func(history dibs.HistoryPage) wire.EventsPage {
			return wire.EventsPage{Events: wire.EventsOf(history.Events), NextCursor: history.Next}
		}, (*printer).history)(readHistory(ctx, registry, query))
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
	p.list("No events.", []string{"at", "event", "state", "entity", "until", "epoch", "by", "correlation"},
		wire.ListOf(history.Events, func(e dibs.Event) []string {
			return []string{
				date(e.At.Time()), string(e.Kind), string(e.After.State), owner(e.Entity),
				p.moment(e.After.Until.Time()), number(e.Epoch), e.Actor, e.CorrelationID,
			}
		}))
	p.next("There are older events: use", history.Next)
}

func (s *session) whoHeld() *cobra.Command {
	var at time.Time
	cmd := s.onRegistry("who-held", func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
		return converted(func(holder dibs.Holder) map[string]wire.Holder {
			return map[string]wire.Holder{"holder": wire.HolderOf(holder)}
		}, func(p *printer, holder dibs.Holder) {
			p.fields(
				[2]string{"at", date(at)},
				[2]string{"state", string(holder.State)},
				[2]string{"entity", owner(holder.Entity)},
				[2]string{"epoch", number(holder.Epoch)},
				[2]string{"since", date(holder.Since)},
			)
		})(registry.WhoHeld(ctx, args[0], args[1], at))
	})
	timeVar(cmd, &at, "at", "the moment: 2026-03-01, or with a time of day")
	must(cmd.MarkFlagRequired("at"))
	return cmd
}

func (s *session) events() *cobra.Command {
	var query dibs.FeedQuery
	var follow bool
	cmd := s.onRegistry("events", func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
		if follow {
			return nil, s.follow(ctx, registry, query)
		}
		events, err := readEvents(ctx, registry, query)
		if err != nil {
			return nil, err
		}
		if s.json {
			return nil, s.writeEvents(events)
		}
		return &answer{text: func(p *printer) {
			p.list("No events.", []string{"at", "event", "name", "state", "entity", "cursor"}, wire.ListOf(events, eventRow))
		}}, nil
	})
	flags := cmd.Flags()
	flags.BoolVar(&follow, "follow", false, "print new events as they happen")
	flags.StringVar((*string)(&query.After), "after", "", "resume after this `cursor`; \"latest\" means from now on")
	s.namespaceVar(cmd, &query.Namespace, "only names of this `namespace`")
	flags.IntVar(&query.Limit, "limit", 100, "how `many`, at most 1,000")
	return cmd
}

// readEvents fills a page, even if few of many events are of the namespace.
func readEvents(ctx context.Context, registry *dibs.Registry, query dibs.FeedQuery) (events []dibs.Event, err error) {
	for limit := query.Limit; ; query.Limit = limit - len(events) {
		page, err := registry.Events(ctx, query)
		if err != nil {
			return nil, err
		}
		events = append(events, page.Events...)
		if !page.More || len(events) >= limit {
			return events, nil
		}
		query.After = page.Next
	}
}

// follow writes events as they happen, until it is interrupted.
func (s *session) follow(ctx context.Context, registry *dibs.Registry, query dibs.FeedQuery) error {
	for event, err := range registry.Watch(ctx, query) {
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = s.writeEvents([]dibs.Event{event})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeEvents writes each event as a line.
func (s *session) writeEvents(events []dibs.Event) (err error) {
	for _, e := range events {
		if s.json {
			err = s.encode(wire.EventOf(e), "")
		} else {
			_, err = fmt.Fprintln(s.Stdout, clean(strings.Join(eventRow(e), "  ")))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func eventRow(e dibs.Event) []string {
	change := string(e.After.State)
	if before := string(e.Before.State); before != "" && before != change {
		change = before + " → " + change
	}
	return []string{date(e.At.Time()), string(e.Kind), e.Key(), change, owner(e.Entity), string(e.Cursor)}
}
