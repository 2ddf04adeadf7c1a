package linear

import (
	"context"
	"errors"
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
	calls  atomic.Int64
	load   func(ctx context.Context, b *broken, refs []dibs.Ref) (dibs.Snapshots, error)
	commit func(ctx context.Context, b *broken, groups []dibs.Group) ([]dibs.Outcome, error)
}

// sometimes is about every tenth call.
func (b *broken) sometimes() bool { return b.calls.Add(1)%10 == 0 }

func (b *broken) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	if b.load == nil || !b.sometimes() {
		return b.Store.Load(ctx, refs)
	}
	return b.load(ctx, b, refs)
}

func (b *broken) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if b.commit == nil || !b.sometimes() {
		return b.Store.Commit(ctx, groups)
	}
	return b.commit(ctx, b, groups)
}

// Whatever is wrong with an engine, histories show it.
func TestBrokenStoresAreFound(t *testing.T) {
	t.Parallel()
	late := dibs.Unavailable(errors.New("a lie"))
	for name, b := range map[string]*broken{
		"it forgets what it acknowledged": {commit: func(_ context.Context, _ *broken, groups []dibs.Group) ([]dibs.Outcome, error) {
			outcomes := make([]dibs.Outcome, len(groups))
			for i := range outcomes {
				outcomes[i] = dibs.Committed
			}
			return outcomes, nil
		}},
		"it does what it says it has not done": {commit: func(ctx context.Context, b *broken, groups []dibs.Group) ([]dibs.Outcome, error) {
			_, err := b.Store.Commit(ctx, groups)
			return nil, errors.Join(err, late)
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
			reg, err := dibs.Open(b, Config())
			if err != nil {
				t.Fatal(err)
			}
			defer reg.Close()
			found := run(&Site{Registries: []*dibs.Registry{reg}, Patience: time.Second}, 8, 1).Wrong
			if len(found) == 0 {
				t.Fatal("nothing was found")
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
