package linear

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// broken is a store that sometimes breaks its contract.
type broken struct {
	dibs.Store
	every  int64 // one of this many calls goes wrong; zero means 5
	calls  atomic.Int64
	load   func(ctx context.Context, b *broken, refs []dibs.Ref) (dibs.LoadResult, error)
	commit func(ctx context.Context, b *broken, groups []dibs.Group) ([]dibs.Outcome, error)

	// late makes commits slow. hasty makes answers that depend on a hold's end ignore
	// slow commits.
	late, hasty bool
}

func (b *broken) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	if b.hasty {
		return nil
	}
	return b.Store.Await(ctx, refs, end)
}

// open returns a broken store, and the number of histories to run on it.
func (b *broken) open() (store dibs.Store, histories int) {
	if b.late {
		return newLate(), 24
	}
	return memstore.New(memstore.Config{}), 10
}

// sometimes reports whether this call goes wrong.
func (b *broken) sometimes() bool { return b.calls.Add(1)%cmp.Or(b.every, 5) == 0 }

func (b *broken) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if b.load == nil || !b.sometimes() {
		return b.Store.Load(ctx, refs)
	}
	return b.load(ctx, b, refs)
}

func (b *broken) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	time.Sleep(rand.N(2 * time.Millisecond)) // so that other commits are sometimes faster
	if b.commit == nil || !b.sometimes() {
		return b.Store.Commit(ctx, groups)
	}
	return b.commit(ctx, b, groups)
}

// Histories find every broken engine, and nothing in a sound one.
func TestBrokenStoresAreFound(t *testing.T) {
	t.Parallel()
	lie := dibs.Unavailable(errors.New("wrong answer"))
	for name, b := range map[string]*broken{
		"sound":                   {},
		"sound with slow commits": {late: true},
		"ignores slow commits":    {late: true, hasty: true},
		"drops acknowledged commits": {commit: func(_ context.Context, _ *broken, groups []dibs.Group) ([]dibs.Outcome, error) {
			outcomes := make([]dibs.Outcome, len(groups))
			for i := range outcomes {
				outcomes[i] = dibs.Committed
			}
			return outcomes, nil
		}},
		"commits stale groups": {every: 1, commit: func(ctx context.Context, b *broken, groups []dibs.Group) ([]dibs.Outcome, error) {
			outcomes, err := b.Store.Commit(ctx, groups)
			for i := range outcomes {
				outcomes[i] = dibs.Committed
			}
			return outcomes, err
		}},
		"commits and returns UNAVAILABLE": {commit: func(ctx context.Context, b *broken, groups []dibs.Group) ([]dibs.Outcome, error) {
			_, err := b.Store.Commit(ctx, groups)
			return nil, errors.Join(err, lie)
		}},
		"does not load existing records": {load: func(ctx context.Context, b *broken, refs []dibs.Ref) (dibs.LoadResult, error) {
			return b.Store.Load(ctx, refs[:0])
		}},
		"has a clock that is ahead in Load": {load: func(ctx context.Context, b *broken, refs []dibs.Ref) (dibs.LoadResult, error) {
			found, err := b.Store.Load(ctx, refs)
			found.Now = found.Now.Add(2 * time.Hour)
			return found, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var histories int
			b.Store, histories = b.open()
			var regs []*dibs.Registry
			for range 3 {
				regs = append(regs, coretest.MustOpen(t, b, Config()))
			}
			right := b.load == nil && b.commit == nil && !b.hasty
			var found []Violation
			// Some errors show in few histories only.
			for began, seed := time.Now(), uint64(1); len(found) == 0 && time.Since(began) < 2*time.Minute; seed += 1000 {
				site := Site{Registries: regs, Patience: time.Second, Concurrent: histories, Short: b.late} // they mostly wait
				found = Run(t.Context(), site, Options{Histories: histories, Seed: seed, Pictures: t.TempDir(), Trace: true}).Violations
				if right {
					break
				}
			}
			t.Logf("%d of %d histories are not linearizable", len(found), histories)
			if right != (len(found) == 0) {
				t.Fatalf("%d histories are not linearizable: %v", len(found), found)
			}
			for _, wrong := range found {
				mustShow(t, wrong)
			}
		})
	}
}

// mustShow checks that a violation is shown by few operations, and by a picture of them.
func mustShow(t *testing.T, wrong Violation) {
	t.Helper()
	page, err := os.ReadFile(wrong.Picture)
	if err != nil {
		t.Fatalf("no picture where the report says: %v: %v", wrong, err)
	}
	if n := len(wrong.Shortest); n == 0 || n >= wrong.Recorded || strings.Count(string(page), "<rect ") != n {
		t.Errorf("%d of %d operations, and %d in the picture", n, wrong.Recorded, strings.Count(string(page), "<rect "))
	}
}
