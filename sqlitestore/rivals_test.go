package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// Two registries change the same names, each with a cache that the other makes stale. A name has one
// holder at a time, and its history has no gap.
func TestStaleCaches(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) func() dibs.Store{
		"memory": func(*testing.T) func() dibs.Store {
			store := memstore.New(memstore.Config{})
			return func() dibs.Store { return store }
		},
		"file": func(t *testing.T) func() dibs.Store {
			path := filepath.Join(t.TempDir(), "names.db")
			return func() dibs.Store {
				store, err := sqlitestore.Open(context.Background(), path, sqlitestore.Config{BusyTimeout: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				return store
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			another := open(t)
			var rivals [2]*dibs.Registry
			for i := range rivals {
				reg, err := core.Open(another(), dibs.Config{Suggestions: -1, Policies: map[string]dibs.Policy{
					"slug": {Quarantine: time.Millisecond, MaxHolds: 50},
				}})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := reg.Close(); err != nil {
						t.Error(err)
					}
				})
				rivals[i] = reg
			}
			rounds := 150
			if testing.Short() {
				rounds = 50
			}
			holders := newHolders()
			var group sync.WaitGroup
			for i := range 8 {
				group.Go(func() {
					for round := range rounds {
						if err := holders.round(rivals[i%2], rivals[rand.IntN(2)], fmt.Sprintf("%d-%d", i, round)); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			checkFeed(t, rivals[0])
		})
	}
}

// holders tracks which caller has a name.
type holders struct {
	mu    sync.Mutex
	names map[string]string
}

func newHolders() *holders { return &holders{names: make(map[string]string)} }

func (h *holders) take(value, who string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if other := h.names[value]; other != "" {
		return fmt.Errorf("%s was given to %s while %s had it", value, who, other)
	}
	h.names[value] = who
	return nil
}

func (h *holders) leave(value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.names, value)
}

// round reserves one of few names by one registry, and continues by another with a different cache.
func (h *holders) round(reg, then *dibs.Registry, who string) error {
	ctx := context.Background()
	value := fmt.Sprintf("name-%d", rand.IntN(5))
	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: value})
	if errors.Is(err, dibs.ErrNameTaken) {
		return nil
	} else if err != nil {
		return err
	}
	if err := h.take(value, who); err != nil {
		return err
	}
	if rand.IntN(2) == 0 {
		h.leave(value) // before it is free: another caller may get it at once
		_, err := then.Release(ctx, dibs.Release{ID: hold.ID, Token: hold.Token})
		return err
	}
	entity := dibs.Entity{Type: "user", ID: who}
	if _, err := then.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: entity}); err != nil {
		return err
	}
	h.leave(value)
	_, err = reg.Decommission(ctx, dibs.Decommission{Namespace: "slug", Value: value, Entity: entity})
	return err
}

// checkFeed checks that the revisions of each name have no gap, and that its epochs never decrease.
func checkFeed(t *testing.T, reg *dibs.Registry) {
	t.Helper()
	type state struct{ rev, epoch uint64 }
	last := make(map[dibs.ID]state)
	query := dibs.FeedQuery{Limit: 1000}
	for {
		page, err := reg.Events(context.Background(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			if was := last[e.ID]; e.Rev != was.rev+1 || e.Epoch < was.epoch {
				t.Fatalf("%s: revision %d and epoch %d follow %d and %d", e.Canonical, e.Rev, e.Epoch, was.rev, was.epoch)
			}
			last[e.ID] = state{e.Rev, e.Epoch}
		}
		if len(page.Events) < query.Limit {
			break
		}
		query.After = page.Next
	}
	if len(last) != 5 {
		t.Errorf("%d names have a history", len(last))
	}
}
