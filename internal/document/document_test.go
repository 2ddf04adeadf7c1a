package document_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/document"
	"github.com/calldibs/dibs/memstore"
)

var ref = dibs.Ref{Kind: "counter", ID: dibs.ID{1}}

// increment returns a decide function that adds one to a counter.
func increment(ctx context.Context, store dibs.Store) func() (dibs.Group, error) {
	return func() (dibs.Group, error) {
		n, rev, err := read(ctx, store)
		if err != nil {
			return dibs.Group{}, err
		}
		data, err := json.Marshal(n + 1)
		doc := &dibs.Document{Kind: ref.Kind, ID: ref.ID, Rev: rev + 1, Label: "counter", Data: data}
		return dibs.Group{Reads: []dibs.Read{{Ref: ref, Rev: rev}}, Writes: []dibs.Write{{Record: doc}}}, err
	}
}

func read(ctx context.Context, store dibs.Store) (n int, rev uint64, err error) {
	found, err := store.Load(ctx, []dibs.Ref{ref})
	if err != nil || len(found.Records) == 0 {
		return 0, 0, err
	}
	doc := found.Records[0].(*dibs.Document)
	err = json.Unmarshal(doc.Data, &n)
	return n, doc.Rev, err
}

func newStore(t *testing.T) dibs.Store {
	t.Helper()
	store := memstore.New(memstore.Config{})
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// No update of concurrent callers is lost.
func TestUpdateConcurrently(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	var callers sync.WaitGroup
	const each = 4
	for range each {
		callers.Go(func() {
			for range each {
				if err := document.Update(t.Context(), store, increment(t.Context(), store)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	if n, _, err := read(t.Context(), store); n != each*each || err != nil {
		t.Errorf("the counter is %d, %v, want %d", n, err, each*each)
	}
}

func TestCommitStale(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	group, err := increment(t.Context(), store)()
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Commit(t.Context(), store, group); err != nil {
		t.Error(err)
	}
	if err := document.Commit(t.Context(), store, group); !errors.Is(err, document.ErrStale) {
		t.Errorf("a second commit of the same revision: %v", err)
	}
}

// Update returns an error of decide as it is, gives up after some attempts, and ends with its
// context.
func TestUpdateFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		broken := errors.New("broken")
		for _, c := range []struct {
			ctx         context.Context
			decide      error
			wants       []error
			wantedCalls int
		}{
			{t.Context(), broken, []error{broken}, 1},
			{t.Context(), document.ErrStale, []error{document.ErrContended, dibs.ErrUnavailable}, 10},
			{ended, nil, nil, 1}, // nothing to write
			{ended, document.ErrStale, []error{context.Canceled, dibs.ErrUnavailable}, 1},
		} {
			calls := 0
			err := document.Update(c.ctx, store, func() (dibs.Group, error) {
				calls++
				return dibs.Group{}, c.decide
			})
			if (err == nil) != (c.decide == nil) {
				t.Errorf("%v: %v", c.decide, err)
			}
			for _, want := range c.wants {
				if !errors.Is(err, want) {
					t.Errorf("%v: %v, want %v", c.decide, err, want)
				}
			}
			if calls != c.wantedCalls {
				t.Errorf("%v: decide was called %d times, want %d", c.decide, calls, c.wantedCalls)
			}
		}
	})
}
