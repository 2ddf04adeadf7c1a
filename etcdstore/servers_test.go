//go:build unix

package etcdstore_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
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

// Open refuses a prefix with data that it does not read, says why, and changes nothing.
func TestRefusedPrefixes(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Shared(t)
	client := cluster.Client(t)
	for _, c := range []struct {
		key, value string
		want       error
		text       string
	}{
		{"other", "2", etcdstore.ErrForeignKeys, "choose another one"},
		{"f", "1", etcdstore.ErrOlderLayout, "an older version of Dibs has written the data under this prefix"},
		{"f", "9", etcdstore.ErrNewerLayout, "update this program"},
	} {
		cfg := etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), Timeout: patience}
		eventually(t, "there is a key", func() bool {
			_, err := client.Put(t.Context(), cfg.Prefix+c.key, c.value)
			return err == nil
		})
		before := dump(t, cfg)
		if _, err := etcdstore.Open(t.Context(), cfg); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s = %s: %v, want %v", c.key, c.value, err, c.want)
		}
		if after := dump(t, cfg); !bytes.Equal(after, before) {
			t.Errorf("%s = %s: Open changed the keys to %q", c.key, c.value, after)
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

// offClock is a machine's clock that is wrong by some time.
type offClock struct{ off atomic.Int64 }

func (c *offClock) now() time.Time { return time.Now().Add(time.Duration(c.off.Load())) }

// serve opens a store on a machine with a wrong clock.
func serve(t *testing.T, prefix string, off time.Duration, change ...func(etcdstore.Config) etcdstore.Config) (*etcdstore.Store, *offClock) {
	t.Helper()
	clock := new(offClock)
	clock.off.Store(int64(off))
	cfg := etcdstore.PublishTimeOften(etcdstore.Config{
		Endpoints: etcdtest.Shared(t).Endpoints(), Prefix: prefix, Now: clock.now, Timeout: patience,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	for _, c := range change {
		cfg = c(cfg)
	}
	return open(t, cfg), clock
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("timeout, waiting until " + what)
		}
	}
}

// writes reports whether a server writes. If not, the error must name the clock.
func writes(t *testing.T, store *etcdstore.Store) bool {
	t.Helper()
	_, err := store.Commit(t.Context(), []dibs.Group{{}})
	if err != nil && (!errors.Is(err, dibs.ErrUnavailable) || !strings.Contains(err.Error(), "clock is")) {
		t.Fatal(err)
	}
	if _, readErr := store.Load(t.Context(), nil); readErr != nil {
		t.Errorf("a server with a wrong clock cannot read: %v", readErr)
	}
	return err == nil
}

// A server whose clock differs from all others does not write until its clock is right.
func TestNewServerWithAWrongClock(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"ahead": 2 * time.Minute, "behind": -2 * time.Minute, "a little ahead": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := etcdtest.Shared(t).Prefix()
			first, _ := serve(t, prefix, 0)
			second, _ := serve(t, prefix, 0)
			eventually(t, "the two know each other", func() bool { return first.ServersKnown() == 1 && second.ServersKnown() == 1 })
			added, clock := serve(t, prefix, off, etcdstore.JoinPatiently)
			if writes(t, added) {
				t.Error("the new server writes")
			}
			eventually(t, "all know of it", func() bool { return first.ServersKnown() == 2 && second.ServersKnown() == 2 })
			if !writes(t, first) || !writes(t, second) {
				t.Error("the servers with right clocks do not write")
			}
			clock.off.Store(0)
			eventually(t, "it writes with a right clock", func() bool { return writes(t, added) })
		})
	}
}

// Of two servers whose clocks differ, the older one goes on.
func TestTwoClocksThatDiffer(t *testing.T) {
	t.Parallel()
	prefix := etcdtest.Shared(t).Prefix()
	first, _ := serve(t, prefix, 0)
	second, clock := serve(t, prefix, 100*time.Millisecond)
	eventually(t, "the two know each other", func() bool { return first.ServersKnown() == 1 && second.ServersKnown() == 1 })
	eventually(t, "two servers that nearly agree write", func() bool { return writes(t, first) && writes(t, second) })
	clock.off.Store(int64(time.Minute))
	eventually(t, "the second notices", func() bool { return !writes(t, second) })
	if !writes(t, first) {
		t.Error("the first does not write either")
	}
}

// SetTime corrects a registry whose time is far ahead.
func TestSetTime(t *testing.T) {
	t.Parallel()
	prefix := etcdtest.Shared(t).Prefix()
	wrong, _ := serve(t, prefix, 24*time.Hour)
	if !writes(t, wrong) {
		t.Fatal("a lone server does not write")
	}
	if err := wrong.Close(); err != nil {
		t.Fatal(err)
	}
	store, _ := serve(t, prefix, 0)
	if writes(t, store) {
		t.Error("a server with a clock a day behind the registry's time writes")
	}
	if err := store.SetTime(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if !writes(t, store) {
		t.Error("it does not write after the time was set")
	}
	if now, _ := store.Now(); now.Time().After(time.Now().Add(time.Second)) {
		t.Errorf("the time is %s", now)
	}
}

// The published time of a killed server does not keep others from writing.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Shared(t)
	prefix := cluster.Prefix()
	first, _ := serve(t, prefix, 0)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	published := binary.BigEndian.AppendUint64(make([]byte, 8), uint64(time.Now().Add(-20*time.Second).UnixMilli()))
	if _, err := cluster.Client(t).Put(t.Context(), prefix+"mkilled", string(published)); err != nil {
		t.Fatal(err)
	}
	store, _ := serve(t, prefix, 0)
	if store.ServersKnown() != 1 {
		t.Error("the killed server is not known")
	}
	if !writes(t, store) {
		t.Error("the server does not write")
	}
}
