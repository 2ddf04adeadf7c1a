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
	"github.com/calldibs/dibs/memstore"
)

// broken is a store that does not keep its contract, now and then.
type broken struct {
	dibs.Store
	every  int64 // it is wrong in one of so many calls; zero means 5
	calls  atomic.Int64
	load   func(ctx context.Context, b *broken, refs []dibs.Ref) (dibs.Snapshots, error)
	commit func(ctx context.Context, b *broken, groups []dibs.Group) ([]dibs.Outcome, error)
}

// sometimes reports whether a call is one that goes wrong.
func (b *broken) sometimes() bool { return b.calls.Add(1)%cmp.Or(b.every, 5) == 0 }

func (b *broken) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	if b.load == nil || !b.sometimes() {
		return b.Store.Load(ctx, refs)
	}
	return b.load(ctx, b, refs)
}

func (b *broken) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	time.Sleep(rand.N(2 * time.Millisecond)) // so that others are faster now and then
	if b.commit == nil || !b.sometimes() {
		return b.Store.Commit(ctx, groups)
	}
	return b.commit(ctx, b, groups)
}

// Whatever is wrong with an engine, histories show it, and nothing if nothing is.
func TestBrokenStoresAreFound(t *testing.T) {
	t.Parallel()
	lie := dibs.Unavailable(errors.New("it is a lie"))
	for name, b := range map[string]*broken{
		"nothing is wrong": {},
		"it forgets what it acknowledged": {commit: func(_ context.Context, _ *broken, groups []dibs.Group) ([]dibs.Outcome, error) {
			outcomes := make([]dibs.Outcome, len(groups))
			for i := range outcomes {
				outcomes[i] = dibs.Committed
			}
			return outcomes, nil
		}},
		"it takes what is stale for done": {every: 1, commit: func(ctx context.Context, b *broken, groups []dibs.Group) ([]dibs.Outcome, error) {
			outcomes, err := b.Store.Commit(ctx, groups)
			for i := range outcomes {
				outcomes[i] = dibs.Committed
			}
			return outcomes, err
		}},
		"it does what it says it has not done": {commit: func(ctx context.Context, b *broken, groups []dibs.Group) ([]dibs.Outcome, error) {
			_, err := b.Store.Commit(ctx, groups)
			return nil, errors.Join(err, lie)
		}},
		"it does not see what is there": {load: func(ctx context.Context, b *broken, refs []dibs.Ref) (dibs.Snapshots, error) {
			return b.Store.Load(ctx, refs[:0])
		}},
		"its clock is ahead of itself": {load: func(ctx context.Context, b *broken, refs []dibs.Ref) (dibs.Snapshots, error) {
			found, err := b.Store.Load(ctx, refs)
			found.Now = found.Now.Add(2 * time.Hour)
			return found, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.Store = memstore.New(memstore.Config{})
			var regs []*dibs.Registry
			for range 3 {
				reg, err := dibs.Open(b, Config())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = reg.Close() })
				regs = append(regs, reg)
			}
			found := run(&Site{Registries: regs, Patience: time.Second}, 10, 1).Wrong
			if right := b.load == nil && b.commit == nil; right != (len(found) == 0) {
				t.Fatalf("%d of the histories are wrong: %v", len(found), found)
			}
			for _, wrong := range found {
				drawing := wrong[strings.LastIndex(wrong, " ")+1:]
				if !strings.HasPrefix(wrong, "seed ") || os.Remove(drawing) != nil {
					t.Errorf("it is not drawn, or not where it says: %s", wrong)
				}
			}
		})
	}
}
