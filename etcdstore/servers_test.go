//go:build unix

package etcdstore_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// Several servers write at once, one of them with a slow clock. Exactly one caller gets a name,
// whichever server it asks.
func TestServersWriteAtOnce(t *testing.T) {
	t.Parallel()
	const callers, names = 8, 30
	cluster := etcdtest.Shared(t)
	prefix := cluster.Prefix()
	var group sync.WaitGroup
	var won [names]atomic.Int32
	for _, off := range []time.Duration{0, -300 * time.Millisecond, 100 * time.Millisecond} {
		clock := new(offClock)
		clock.off.Store(int64(off))
		reg := register(t, etcdstore.Config{
			Endpoints: cluster.Endpoints(), Prefix: prefix, Now: clock.now, Timeout: patience,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		}, dibs.Config{})
		for caller := range callers {
			group.Go(func() {
				for i := range names {
					_, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("wanted-", i)})
					if err == nil {
						won[i].Add(1)
					} else if !errors.Is(err, dibs.ErrNameTaken) {
						t.Error(err)
					}
					if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: fmt.Sprintf("own-%v-%d-%d", off, caller, i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
	for i := range won {
		if n := won[i].Load(); n != 1 {
			t.Errorf("name %d was given out %d times", i, n)
		}
	}
}

// A subscriber on one server is woken by the commits of another.
func TestWake(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Shared(t)
	cfg := etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), Timeout: patience}
	listens, writes := open(t, cfg), open(t, cfg)
	woken := listens.Wake(t.Context())
	for i := 0; ; i++ {
		commit(t, writes, newName(fmt.Sprint(i), "a"))
		select {
		case <-woken:
			return
		case <-time.After(100 * time.Millisecond): // the watch may not have begun
		}
		if i == 100 {
			t.Fatal("the subscriber was not woken")
		}
	}
}

// Open refuses a prefix with other keys.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Shared(t)
	client := cluster.Client(t)
	for prefix, want := range map[string]error{cluster.Prefix(): etcdstore.ErrForeignKeys, cluster.Prefix(): etcdstore.ErrNewerLayout} {
		key := prefix + "other"
		if errors.Is(want, etcdstore.ErrNewerLayout) {
			key = prefix + "f"
		}
		if _, err := client.Put(t.Context(), key, "9"); err != nil {
			t.Fatal(err)
		}
		if _, err := etcdstore.Open(t.Context(), etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: prefix}); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// Open fails if the cluster cannot be reached.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	if _, err := etcdstore.Open(t.Context(), etcdstore.Config{Endpoints: []string{"127.0.0.1:1"}, Timeout: 200 * time.Millisecond}); err == nil {
		t.Error("it was opened")
	}
	if _, err := etcdstore.Open(t.Context(), etcdstore.Config{}); err == nil {
		t.Error("it was opened without endpoints")
	}
}
