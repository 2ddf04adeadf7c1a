package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *session) events() *cobra.Command {
	var (
		query  dibs.FeedQuery
		after  string
		follow bool
	)
	cmd := s.command(verb{
		name: "events", group: groupQuery,
		short: "Show the feed of changes",
		long: `It begins with the oldest event, or after a cursor. With --follow it prints new events
as they happen, until it is interrupted. With --json each event is one line.`,
		example: `
dibs events --namespace slug
dibs events --follow --json | jq .key
dibs events --follow --after "$CURSOR"`,
		do: func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
			query.After = dibs.Cursor(after)
			if follow {
				return nil, s.follow(ctx, registry, query)
			}
			page, err := readEvents(ctx, registry, query)
			if err != nil {
				return nil, err
			}
			return s.eventPage(page)
		},
	})
	flags := cmd.Flags()
	flags.BoolVar(&follow, "follow", false, "print new events as they happen")
	flags.StringVar(&after, "after", "", "resume after this `cursor`; \"latest\" means from now on")
	flags.StringVar(&query.Namespace, "namespace", "", "only names of this `namespace`")
	flags.IntVar(&query.Limit, "limit", 100, "how `many`, at most 1,000")
	must(cmd.RegisterFlagCompletionFunc("namespace", s.completeNamespace))
	return cmd
}

// readEvents fills a page, even if few of many events are of the namespace.
func readEvents(ctx context.Context, registry *dibs.Registry, query dibs.FeedQuery) (dibs.EventPage, error) {
	var whole dibs.EventPage
	for limit := query.Limit; ; query.Limit = limit - len(whole.Events) {
		page, err := registry.Events(ctx, query)
		if err != nil {
			return dibs.EventPage{}, err
		}
		whole.Events = append(whole.Events, page.Events...)
		if !page.More || len(whole.Events) >= limit {
			return whole, nil
		}
		query.After = page.Next
	}
}

// follow writes events as they happen, until it is interrupted.
func (s *session) follow(ctx context.Context, registry *dibs.Registry, query dibs.FeedQuery) error {
	for event, err := range registry.Watch(ctx, query) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case s.json:
			err = s.encode(wire.EventOf(event), "")
		default:
			_, err = fmt.Fprintln(s.Stdout, clean(strings.Join(eventRow(event), "  ")))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *session) eventPage(events dibs.EventPage) (*answer, error) {
	if s.json {
		for _, e := range events.Events {
			if err := s.encode(wire.EventOf(e), ""); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	return &answer{text: func(p *printer) {
		var rows [][]string
		for _, e := range events.Events {
			rows = append(rows, eventRow(e))
		}
		p.list("No events.", []string{"at", "event", "name", "state", "entity", "cursor"}, rows)
	}}, nil
}

func eventRow(e dibs.Event) []string {
	change := string(e.After.State)
	if before := string(e.Before.State); before != "" && before != change {
		change = before + " → " + change
	}
	return []string{date(e.At.Time()), string(e.Kind), e.Key(), change, owner(e.Entity), string(e.Cursor)}
}
