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

	"github.com/calldibs/dibs/internal/core"

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

	// late says that commits take their time; hasty, that answers which rest on a hold's end
	// do not wait for them.
	late, hasty bool
}

func (b *broken) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	if b.hasty {
		return nil
	}
	return b.Store.Await(ctx, refs, end)
}

// open returns where the histories of a broken store take place, and how many there are.
func (b *broken) open() (store dibs.Store, histories int) {
	if b.late {
		return newLate(), 24
	}
	return memstore.New(memstore.Config{}), 10
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
		"nothing is wrong":                           {},
		"nothing is wrong, but commits are late":     {late: true},
		"it does not wait for commits that are late": {late: true, hasty: true},
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
			var histories int
			b.Store, histories = b.open()
			var regs []*dibs.Registry
			for range 3 {
				reg, err := core.Open(b, Config())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = reg.Close() })
				regs = append(regs, reg)
			}
			right := b.load == nil && b.commit == nil && !b.hasty
			var found []string
			for seed := range uint64(10) { // what is wrong shows in few histories of some stores
				found = run(&Site{Registries: regs, Patience: time.Second, AtOnce: 8, Short: b.late}, histories, 1000*seed+1).Wrong
				if right || len(found) > 0 {
					break
				}
			}
			t.Logf("%d of %d histories are wrong", len(found), histories)
			if right != (len(found) == 0) {
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
