package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
		}, func(p *printer, history dibs.HistoryPage) {
			p.history(history, query.Cursor == "")
		})(readHistory(ctx, registry, query))
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

// history prints events, oldest first. If they go on to the newest, that one is how the name is now,
// and only its end is still to come: those of the others were overtaken by the event after them.
func (p *printer) history(history dibs.HistoryPage, newest bool) {
	rows := wire.ListOf(history.Events, func(e dibs.Event) []string {
		return []string{
			date(e.At.Time()), string(e.Kind), string(e.After.State), owner(e.Entity),
			date(e.After.Until.Time()), number(e.Epoch), e.Actor, e.CorrelationID,
		}
	})
	if last := len(rows) - 1; newest && last >= 0 {
		rows[last][4] = p.moment(history.Events[last].After.Until.Time())
	}
	p.list("No events.", []string{"at", "event", "state", "entity", "until", "epoch", "by", "correlation"}, rows)
	p.next("There are older events: use", history.Next)
}

func (s *session) whoHeld() *cobra.Command {
	var at time.Time
	cmd := s.onRegistry("who-held", func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
		if at.After(s.Now().Add(mostSkew)) {
			return nil, usage("%s is in the future: who-held says who had a name; dibs get says who has it", date(at))
		}
		record := ""
		return converted(func(holder dibs.Holder) map[string]wire.Holder {
			return map[string]wire.Holder{"holder": wire.HolderOf(holder)}
		}, func(p *printer, holder dibs.Holder) {
			p.fields(
				[2]string{"at", date(at)},
				[2]string{"state", string(holder.State)},
				[2]string{"entity", owner(holder.Entity)},
				[2]string{"epoch", number(holder.Epoch)},
				[2]string{"since", date(holder.Since)},
				[2]string{"record", record},
			)
		})(func() (dibs.Holder, error) {
			holder, err := registry.WhoHeld(ctx, args[0], args[1], at)
			if err == nil && holder.Since.IsZero() {
				record, err = firstRecord(ctx, registry, args[0], args[1])
			}
			return holder, err
		}())
	})
	timeVar(cmd, &at, "at", "the moment: 2026-03-01, or with a time of day")
	must(cmd.MarkFlagRequired("at"))
	return cmd
}

// mostSkew is how far the engine's clock may be ahead of this machine's.
const mostSkew = time.Minute

// firstRecord says since when there is a record of a name: before that the registry knows nothing, which
// does not mean that the name was free in a system before it.
func firstRecord(ctx context.Context, registry *dibs.Registry, namespace, value string) (string, error) {
	history, err := registry.History(ctx, namespace, value)
	if err != nil {
		return "", err
	}
	if len(history) == 0 {
		return "none of this name", nil
	}
	return "none before " + date(history[0].At.Time()), nil
}

// feedFlags are the flags that select events.
type feedFlags struct {
	dibs.FeedQuery
	kinds  []string
	actor  string
	entity dibs.Entity
	last   int
	since  time.Time
	follow bool
	given  func(flag string) bool
}

func (s *session) events() *cobra.Command {
	var f feedFlags
	cmd := s.onRegistry("events", func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
		if err := f.check(); err != nil {
			return nil, err
		}
		events, after, err := f.read(ctx, registry)
		switch {
		case err != nil:
			return nil, err
		case f.follow || s.json:
			if err := s.writeEvents(events); err != nil || !f.follow {
				return nil, err
			}
			f.After = after
			return nil, s.follow(ctx, registry, &f)
		}
		return &answer{text: func(p *printer) {
			p.list("No events.", []string{"at", "event", "name", "state", "entity", "cursor"}, wire.ListOf(events, eventRow))
		}}, nil
	})
	flags := cmd.Flags()
	flags.BoolVar(&f.follow, "follow", false, "print new events as they happen")
	flags.StringVar((*string)(&f.After), "after", "", "resume after this `cursor`; \"latest\" means from now on")
	timeVar(cmd, &f.since, "since", "begin at this time: 2026-03-01, or with a time of day")
	s.namespaceVar(cmd, &f.Namespace, "only names of this `namespace`")
	flags.StringSliceVar(&f.kinds, "kind", nil, "only these `kinds` of event, such as claimed,demoted")
	flags.StringVar(&f.actor, "actor", "", "only changes by this `caller`, such as the name of an API key")
	entityVar(cmd, &f.entity, "entity", "only changes of names that this entity had before or has after them")
	flags.IntVar(&f.Limit, "limit", 100, "how `many`, at most 1,000")
	flags.IntVar(&f.last, "last", 0, "only the last so `many`, at most 1,000; it reads the whole feed")
	f.given = flags.Changed
	must(cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kindNames(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// kindNames returns all kinds of event.
func kindNames() (names []string) {
	for _, kind := range wire.EventKinds() {
		names = append(names, string(kind))
	}
	return names
}

func (f *feedFlags) check() error {
	for _, kind := range f.kinds {
		if !slices.Contains(kindNames(), kind) {
			return usage("unknown kind of event %q: use %s", kind, join(kindNames()))
		}
	}
	if f.given("since") && f.given("after") {
		return usage("--since and --after exclude each other: use one of them")
	}
	if f.given("since") {
		f.After = dibs.Cursor(f.since.Format(time.RFC3339Nano))
	}
	if f.given("last") && f.given("limit") {
		return usage("--last and --limit exclude each other: use one of them")
	}
	if f.given("last") && (f.last < 1 || f.last > maxLast) {
		return usage("--last is %d; it must be from 1 to %d", f.last, maxLast)
	}
	return nil
}

// maxLast is how many events --last can show.
const maxLast = 1000

// wants reports whether an event is selected. A free name still has its last entity, which does not
// concern the next owner.
func (f *feedFlags) wants(e dibs.Event) bool {
	return (len(f.kinds) == 0 || slices.Contains(f.kinds, string(e.Kind))) && (f.actor == "" || e.Actor == f.actor) &&
		(f.entity.IsZero() || f.entity == e.Entity || f.entity == e.After.Entity || f.entity == e.Before.Entity && e.Before.State != dibs.Free)
}

// wantsAll reports whether every event is selected.
func (f *feedFlags) wantsAll() bool { return len(f.kinds) == 0 && f.actor == "" && f.entity.IsZero() }

// read returns the selected events, and the cursor behind them. It fills the page even if few of
// many events are selected. The feed can only be read forwards, so the last ones are those that are
// left at its end. To follow the feed without --last, it reads none.
func (f *feedFlags) read(ctx context.Context, registry *dibs.Registry) (events []dibs.Event, after dibs.Cursor, err error) {
	query, limit := f.FeedQuery, cmp.Or(max(f.Limit, 0), 100)
	if f.last > 0 {
		limit = f.last
	} else if f.follow {
		return nil, query.After, nil
	}
	if f.last > 0 || !f.wantsAll() {
		query.Limit = maxLast
	}
	for {
		page, err := registry.Events(ctx, query)
		if err != nil {
			return nil, "", err
		}
		events = append(events, slices.DeleteFunc(page.Events, func(e dibs.Event) bool { return !f.wants(e) })...)
		switch {
		case f.last > 0:
			events = slices.Delete(events, 0, max(0, len(events)-limit))
		case len(events) >= limit:
			return events[:limit], events[limit-1].Cursor, nil
		case f.wantsAll():
			query.Limit = limit - len(events)
		}
		if query.After = page.Next; !page.More {
			return events, page.Next, nil
		}
	}
}

// follow writes events as they happen, until it is interrupted.
func (s *session) follow(ctx context.Context, registry *dibs.Registry, f *feedFlags) error {
	for event, err := range registry.Watch(ctx, f.FeedQuery) {
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && f.wants(event) {
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
	paint := s.paintOn(s.Stdout)
	for _, e := range events {
		if s.json {
			err = s.encode(wire.EventOf(e), "")
		} else {
			cells := wire.ListOf(eventRow(e), clean)
			cells[1], cells[3] = paint.word(cells[1]), paint.word(cells[3])
			_, err = fmt.Fprintln(s.Stdout, strings.Join(cells, "  "))
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
