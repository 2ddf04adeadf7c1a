package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/routestore"
)

// populated returns a store with some names, entities, documents and events.
func populated(t *testing.T, names int) *memstore.Store {
	t.Helper()
	store := memstore.New(memstore.Config{})
	registry, err := embedded.Open(store, dibs.Config{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range names {
		owner := dibs.Entity{Type: "user", ID: fmt.Sprint(i)}
		if _, err := registry.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: fmt.Sprint("name-", i), Entity: owner}); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			if _, err := registry.Archive(t.Context(), dibs.Archive{Entity: owner}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return store
}

// fill writes what a view shows, up to a number of items; a negative number means all.
func fill(ctx context.Context, view snapshot.View, target dibs.Store, items int) error {
	w, err := snapshot.NewWriter(ctx, target, "test", view.Latest())
	if err != nil {
		return err
	}
	for _, table := range snapshot.Tables {
		for record, err := range view.Records(ctx, table) {
			if items--; err != nil || items == -1 {
				return errors.Join(err, w.Flush(ctx))
			}
			if err := w.Record(ctx, record); err != nil {
				return err
			}
		}
	}
	for event, err := range view.Events(ctx, "") {
		if items--; err != nil || items == -1 {
			return errors.Join(err, w.Flush(ctx))
		}
		if err := w.Event(ctx, event); err != nil {
			return err
		}
	}
	return w.Finish(ctx)
}

// content returns everything in a store as text, without the cursors of events.
func content(t *testing.T, store dibs.Store) string {
	t.Helper()
	view, err := snapshot.Take(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	return contentOf(t, view)
}

func contentOf(t *testing.T, view snapshot.View) string {
	t.Helper()
	var b strings.Builder
	for _, table := range snapshot.Tables {
		for record, err := range view.Records(t.Context(), table) {
			if err != nil {
				t.Fatal(err)
			}
			if !snapshot.IsLocal(record) {
				fmt.Fprintf(&b, "%+v\n", record)
			}
		}
	}
	for event, err := range view.Events(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		event.Cursor = ""
		fmt.Fprintf(&b, "%+v\n", event)
	}
	return b.String()
}

// A writer that was stopped anywhere goes on where it was, and ends with everything exactly once.
func TestWriterGoesOn(t *testing.T) {
	t.Parallel()
	source := populated(t, 30)
	view, err := snapshot.Take(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	want := contentOf(t, view)
	for stop := range 120 {
		target := memstore.New(memstore.Config{})
		for _, items := range []int{stop / 2, stop, -1} {
			if err := fill(t.Context(), view, target, items); err != nil && !errors.Is(err, snapshot.ErrNotEmpty) {
				t.Fatal(err)
			}
		}
		if got := content(t, target); got != want {
			t.Fatalf("stopped after %d items:\n%s\nwant\n%s", stop, got, want)
		}
		if loading, err := snapshot.IsLoading(t.Context(), target); loading || err != nil {
			t.Fatalf("still loading: %v, %v", loading, err)
		}
	}
}

// A target that has something is refused, and is left as it is.
func TestWriterRefuses(t *testing.T) {
	t.Parallel()
	target := populated(t, 1)
	before := content(t, target)
	_, err := snapshot.NewWriter(t.Context(), target, "test", "")
	if !errors.Is(err, snapshot.ErrNotEmpty) || !strings.Contains(err.Error(), "slug:name-0") {
		t.Errorf("a target with a name: %v", err)
	}
	if after := content(t, target); after != before {
		t.Errorf("the target has changed: %s", after)
	}

	target = memstore.New(memstore.Config{})
	view, err := snapshot.Take(t.Context(), populated(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(t.Context(), view, target, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.NewWriter(t.Context(), target, "another", ""); !errors.Is(err, snapshot.ErrOtherSource) {
		t.Errorf("a target with a part of something else: %v", err)
	}
}

// twoParts returns a store of two parts: one for everything, and one for the scope acme.
func twoParts(t *testing.T, everything, acme dibs.Store) dibs.Store {
	t.Helper()
	store, err := routestore.Open(t.Context(), routestore.Config{Routes: []routestore.Route{
		{Name: "default", Scopes: []string{routestore.Everything}, Store: everything}, {Name: "acme", Scopes: []string{"acme"}, Store: acme},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// If one part of a target has something, no part is changed, at the first attempt and at the second.
func TestWriterRefusesEveryPart(t *testing.T) {
	t.Parallel()
	for _, used := range []int{0, 1} {
		parts := []*memstore.Store{memstore.New(memstore.Config{}), memstore.New(memstore.Config{})}
		store := twoParts(t, parts[0], parts[1])
		registry, err := embedded.Open(store, dibs.Config{SweepEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		namespace := []string{"slug", "acme.slug"}[used]
		if _, err := registry.Claim(t.Context(), dibs.Claim{Namespace: namespace, Value: "ann", Entity: dibs.Entity{Type: "user", ID: "1"}}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := snapshot.NewWriter(t.Context(), store, "test", "7"); !errors.Is(err, snapshot.ErrNotEmpty) {
				t.Errorf("part %d has a name: %v, want %v", used, err, snapshot.ErrNotEmpty)
			}
			for i, part := range parts {
				if loading, err := snapshot.IsLoading(t.Context(), part); loading || err != nil {
					t.Errorf("part %d has a name: part %d is marked as incomplete: %v", used, i, err)
				}
			}
		}
	}
}

// mortal is the user of several stores, who dies before one of the commits.
type mortal struct {
	commits int // that it may make
	die     context.CancelFunc
}

type mortalStore struct {
	*memstore.Store
	user *mortal
}

func (m mortalStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if m.user.commits == 0 {
		m.user.die()
		return nil, ctx.Err()
	}
	m.user.commits--
	return m.Store.Commit(ctx, groups)
}

// A writer into several parts that dies at any commit, also while it finishes one part after another, is
// finished by the next one.
func TestWriterFinishesEveryPart(t *testing.T) {
	t.Parallel()
	view, err := snapshot.Take(t.Context(), populated(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	want := contentOf(t, view)
	for commits, died := 0, true; died; commits++ {
		ctx, die := context.WithCancel(t.Context())
		user := &mortal{commits: 100, die: die}
		parts := []mortalStore{{memstore.New(memstore.Config{}), user}, {memstore.New(memstore.Config{}), user}}
		store := twoParts(t, parts[0], parts[1])
		user.commits = commits
		err := fill(ctx, view, store, -1)
		if died = errors.Is(err, context.Canceled); err != nil && !died {
			t.Fatal(err)
		}
		if user.commits = 100; died {
			err = fill(t.Context(), view, store, -1)
		}
		if err != nil {
			t.Fatalf("after %d commits: %v", commits, err)
		}
		if got := content(t, store); got != want {
			t.Fatalf("after %d commits:\n%s\nwant\n%s", commits, got, want)
		}
		for i, part := range parts {
			if loading, err := snapshot.IsLoading(t.Context(), part); loading || err != nil {
				t.Fatalf("after %d commits: part %d is loading: %v", commits, i, err)
			}
		}
		die()
	}
}
