package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// refusing breaks the error of a closed or cut-off store.
func refusing(answer func(err error) error) breakage {
	return func(f *fake, _ *Clock) {
		good := f.before
		f.before = func(ctx context.Context, method string) (context.Context, error) {
			ctx, err := good(ctx, method)
			if err != nil {
				err = answer(err)
			}
			return ctx, err
		}
	}
}

// concurrently breaks the answer to a Commit that runs while another one does.
func concurrently(outcomes []dibs.Outcome, err error) breakage {
	return func(f *fake, _ *Clock) {
		good := f.commit
		var busy atomic.Int32
		f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
			defer busy.Add(-1)
			if busy.Add(1) > 1 {
				return outcomes, err
			}
			time.Sleep(moment)
			return good(ctx, groups)
		}
	}
}

func brokenLives() []broken {
	stores := []broken{
		{must: "concurrent", how: "fails when calls run concurrently", apply: concurrently(nil, errors.New("database is locked"))},
		{must: "concurrent", how: "loses a concurrent commit", apply: concurrently([]dibs.Outcome{dibs.Committed}, nil)},
		{must: "unavailable", how: "returns the driver's error", apply: refusing(func(error) error { return errors.New("connection refused") })},
		{must: "unavailable", how: "says that the outcome is unknown", apply: refusing(func(err error) error { return dibs.OutcomeUnknown(err) })},
		{must: "unavailable", how: "says both", apply: refusing(func(err error) error { return errors.Join(err, dibs.OutcomeUnknown(err)) })},
		{must: "closed", how: "returns the driver's error", apply: refusing(func(error) error { return errors.New("sql: database is closed") })},
		{must: "cancelled", how: "commits and then returns an error", apply: func(f *fake, _ *Clock) {
			f.before = func(ctx context.Context, _ string) (context.Context, error) { return ctx, nil }
			good := f.commit
			f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
				outcomes, err := good(context.WithoutCancel(ctx), groups)
				return outcomes, errors.Join(err, ctx.Err())
			}
		}},
		{must: "cancelled", how: "says that it is unavailable", apply: refusing(func(error) error { return dibs.Unavailable(nil) })},
		{must: "close-twice", how: "fails the second time", apply: func(f *fake, _ *Clock) {
			var once atomic.Bool
			f.close = func() error {
				if once.Swap(true) {
					return dibs.ErrClosed
				}
				return nil
			}
		}},
	}
	for _, method := range []string{"Load", "Commit", "Due", "Owned", "List", "Events"} {
		stores = append(stores,
			broken{must: "closed", how: method + " still works", apply: func(f *fake, _ *Clock) {
				good := f.before
				f.before = func(ctx context.Context, m string) (context.Context, error) {
					if m == method {
						return ctx, nil
					}
					return good(ctx, m)
				}
			}},
			broken{must: "cancelled", how: method + " still works", apply: func(f *fake, _ *Clock) {
				good := f.before
				f.before = func(ctx context.Context, m string) (context.Context, error) {
					if m == method {
						ctx = context.WithoutCancel(ctx)
					}
					return good(ctx, m)
				}
			}})
	}
	return stores
}

// logged makes a harness's stores record their commits, and reopens a store by
// replaying what replay returns for them.
func logged(replay func(groups []dibs.Group) []dibs.Group) func(h *Harness) {
	return func(h *Harness) {
		var mu sync.Mutex
		var log []dibs.Group
		remember := func(f *fake, _ *Clock) {
			good := f.commit
			f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
				mu.Lock()
				defer mu.Unlock()
				outcomes, err := good(ctx, groups)
				for i, outcome := range outcomes {
					if outcome == dibs.Committed {
						log = append(log, groups[i])
					}
				}
				return outcomes, err
			}
		}
		*h = fakes(remember)
		first := h.Open
		h.Open = func(tb testing.TB, clock *Clock) dibs.Store {
			mu.Lock()
			defer mu.Unlock()
			log = nil
			return first(tb, clock)
		}
		again := func(tb testing.TB, _ dibs.Store, clock *Clock) dibs.Store {
			mu.Lock()
			defer mu.Unlock()
			store := memstore.New(memstore.Config{Now: clock.Now})
			for _, g := range replay(log) {
				g.Reads, g.Window = nil, dibs.Window{}
				if _, err := store.Commit(tb.Context(), []dibs.Group{g}); err != nil {
					tb.Fatal(err)
				}
			}
			f := newFake(store)
			remember(f, clock)
			return f
		}
		h.Reopen, h.Crash = again, again
	}
}

// only returns the wanted writes of a log, and its events if events is true.
func only(wanted func(w dibs.Write) bool, events bool) func(groups []dibs.Group) []dibs.Group {
	return func(groups []dibs.Group) []dibs.Group {
		var kept []dibs.Group
		for _, g := range groups {
			var part dibs.Group
			for _, w := range g.Writes {
				if wanted(w) {
					part.Writes = append(part.Writes, w)
				}
			}
			if events {
				part.Events = g.Events
			}
			kept = append(kept, part)
		}
		return kept
	}
}

func brokenDisks() []broken {
	every := func(dibs.Write) bool { return true }
	var stores []broken
	for _, must := range []string{"commit-durable", "reopen"} {
		stores = append(stores,
			broken{must: must, how: "loses everything", harness: logged(func([]dibs.Group) []dibs.Group { return nil })},
			broken{must: must, how: "loses the last commit", harness: logged(func(groups []dibs.Group) []dibs.Group {
				return groups[:len(groups)-1]
			})},
			broken{must: must, how: "loses the events", harness: logged(only(every, false))},
			broken{must: must, how: "loses the deletions", harness: logged(only(func(w dibs.Write) bool { return !w.Delete }, true))},
			broken{must: must, how: "loses documents", harness: logged(only(func(w dibs.Write) bool {
				kind := w.Record.Ref().Kind
				return kind == dibs.KindName || kind == dibs.KindEntity
			}, true))},
		)
	}
	return append(stores, broken{must: "reopen", how: "reuses cursors", harness: logged(func(groups []dibs.Group) []dibs.Group {
		// Events of names that were deleted later are not replayed, so their
		// positions are free again.
		gone := make(map[dibs.ID]bool)
		for _, g := range groups {
			for _, w := range g.Writes {
				gone[w.Record.Ref().ID] = gone[w.Record.Ref().ID] || w.Delete
			}
		}
		groups = slices.Clone(groups)
		for i, g := range groups {
			if len(g.Events) > 0 && gone[g.Events[0].ID] {
				groups[i].Events = nil
			}
		}
		return groups
	})})
}

func brokenForgetting() []broken {
	renewing := func(change func(w *dibs.Write)) breakage {
		return committing(func(g *dibs.Group) {
			for i := range g.Writes {
				if g.Writes[i].Renew {
					change(&g.Writes[i])
				}
			}
		})
	}
	redacting := func(change func(g *dibs.Group)) breakage {
		return committing(func(g *dibs.Group) {
			if len(g.Redacts) > 0 {
				change(g)
			}
		})
	}
	return []broken{
		{must: "commit-renew", how: "keeps the events", apply: renewing(func(w *dibs.Write) { w.Renew = false })},
		{must: "commit-renew", how: "deletes the record", apply: renewing(func(w *dibs.Write) { w.Renew, w.Delete = false, true })},
		{must: "commit-renew", how: "loses the events of the group", apply: committing(func(g *dibs.Group) {
			if slices.ContainsFunc(g.Writes, func(w dibs.Write) bool { return w.Renew }) {
				g.Events = nil
			}
		})},
		{must: "commit-redact", how: "redacts nothing", apply: redacting(func(g *dibs.Group) { g.Redacts = nil })},
		{must: "commit-redact", how: "redacts only the first event", apply: redacting(func(g *dibs.Group) { g.Redacts = g.Redacts[:1] })},
		{must: "commit-redact", how: "appends the redacted event again", apply: redacting(func(g *dibs.Group) {
			g.Events, g.Redacts = append(g.Events, g.Redacts...), nil
		})},
	}
}
