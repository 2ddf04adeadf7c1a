package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

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
