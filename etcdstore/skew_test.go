//go:build unix

package etcdstore_test

import (
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// offClock is a machine's clock that is off by some time.
type offClock struct{ off atomic.Int64 }

func (c *offClock) now() time.Time { return time.Now().Add(time.Duration(c.off.Load())) }

// serve opens a store on a machine whose clock is off.
func serve(t *testing.T, prefix string, off time.Duration) (*etcdstore.Store, *offClock) {
	t.Helper()
	clock := new(offClock)
	clock.off.Store(int64(off))
	store := open(t, etcdstore.TellTimeOften(etcdstore.Config{
		Endpoints: etcdtest.Shared(t).Endpoints(), Prefix: prefix, Now: clock.now, Timeout: patience,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}))
	return store, clock
}

// eventually waits for something to become so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never came to pass that " + what)
		}
	}
}

// writes reports whether a server writes; the error must say that it is about the clock.
func writes(t *testing.T, store *etcdstore.Store) bool {
	t.Helper()
	_, err := store.Commit(t.Context(), []dibs.Group{{}})
	if err != nil && (!errors.Is(err, dibs.ErrUnavailable) || !strings.Contains(err.Error(), "clock is")) {
		t.Fatal(err)
	}
	if _, readErr := store.Load(t.Context(), nil); readErr != nil {
		t.Errorf("a server with a wrong clock cannot even read: %v", readErr)
	}
	return err == nil
}

// A server whose clock is off from all others writes nothing, until its clock is right.
func TestNewcomerWithAWrongClock(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"ahead": 2 * time.Minute, "behind": -2 * time.Minute, "a little ahead": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := etcdtest.Shared(t).Prefix()
			first, _ := serve(t, prefix, 0)
			second, _ := serve(t, prefix, 0)
			eventually(t, "the two know each other", func() bool { return first.ServersKnown() == 1 && second.ServersKnown() == 1 })
			newcomer, clock := serve(t, prefix, off)
			if writes(t, newcomer) {
				t.Error("the newcomer writes")
			}
			eventually(t, "all know of it", func() bool { return first.ServersKnown() == 2 && second.ServersKnown() == 2 })
			if !writes(t, first) || !writes(t, second) {
				t.Error("those that were right do not write")
			}
			clock.off.Store(0)
			eventually(t, "it writes with a clock that is right", func() bool { return writes(t, newcomer) })
		})
	}
}

// Of two servers that differ, the one that was there first goes on.
func TestTwoClocksThatDiffer(t *testing.T) {
	t.Parallel()
	prefix := etcdtest.Shared(t).Prefix()
	first, _ := serve(t, prefix, 0)
	second, clock := serve(t, prefix, 100*time.Millisecond)
	eventually(t, "the two know each other", func() bool { return first.ServersKnown() == 1 && second.ServersKnown() == 1 })
	if !writes(t, first) || !writes(t, second) {
		t.Error("two servers that nearly agree do not write")
	}
	clock.off.Store(int64(time.Minute))
	eventually(t, "the second notices", func() bool { return !writes(t, second) })
	if !writes(t, first) {
		t.Error("the first does not write either")
	}
}

// A registry whose time is far ahead can be put right.
func TestSetTime(t *testing.T) {
	t.Parallel()
	prefix := etcdtest.Shared(t).Prefix()
	wrong, _ := serve(t, prefix, 24*time.Hour)
	if !writes(t, wrong) {
		t.Fatal("a server that is alone does not write")
	}
	if err := wrong.Close(); err != nil {
		t.Fatal(err)
	}
	store, _ := serve(t, prefix, 0)
	if writes(t, store) {
		t.Error("a server writes whose clock is a day behind the registry's time")
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

// A server that was killed, and has left its time behind, keeps nobody from writing.
func TestGhost(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Shared(t)
	prefix := cluster.Prefix()
	first, _ := serve(t, prefix, 0)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	told := binary.BigEndian.AppendUint64(make([]byte, 8), uint64(time.Now().Add(-20*time.Second).UnixMilli()))
	if _, err := cluster.Client(t).Put(t.Context(), prefix+"mghost", string(told)); err != nil {
		t.Fatal(err)
	}
	store, _ := serve(t, prefix, 0)
	if store.ServersKnown() != 1 {
		t.Error("the ghost is not seen")
	}
	if !writes(t, store) {
		t.Error("a server does not write because of one that is gone")
	}
}
