//go:build unix

package torture_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/linear"
	"github.com/calldibs/dibs/internal/testdisk"
	"github.com/calldibs/dibs/internal/torture"
	"github.com/calldibs/dibs/memstore"
)

// inMemory opens a registry whose clock can be moved.
func inMemory(t *testing.T) (r *dibs.Registry, ahead *atomic.Int64) {
	t.Helper()
	ahead = new(atomic.Int64)
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	return coretest.MustOpen(t, memstore.New(memstore.Config{Now: now}), linear.Config()), ahead
}

// mustFind fails the test unless exactly these things are wrong.
func mustFind(t *testing.T, found []torture.Violation, want ...string) {
	t.Helper()
	for i, v := range found {
		if v.Kind != "witness" || i >= len(want) || !strings.Contains(v.What, want[i]) {
			t.Errorf("found %s: %s", v.Kind, v.What)
		}
	}
	if len(found) != len(want) {
		t.Errorf("found %d, want %q", len(found), want)
	}
}

// A name that is lost is noticed, and so is a server that does not say whether it has it.
func TestWitnesses(t *testing.T) {
	t.Parallel()
	kept, _ := inMemory(t)
	lost, _ := inMemory(t)
	store := memstore.New(memstore.Config{})
	silent := coretest.MustOpen(t, store, linear.Config())
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	mustFind(t, torture.NewWitnesses(kept).CheckIn(kept))
	another, _ := inMemory(t)
	mustFind(t, torture.NewWitnesses(another).CheckIn(lost), "owned name is given away", "leads to", "held name is given away")
	third, _ := inMemory(t)
	mustFind(t, torture.NewWitnesses(third).CheckIn(silent),
		"owned name is told: dibs: UNAVAILABLE", "leads to", "held name is told: dibs: UNAVAILABLE", "held name is ")
}

// The end of a short hold may be wrong by as much as a clock is, and by no more.
func TestShortHolds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ttl, jumps, said time.Duration
		want             []string
	}{
		"in time":       {time.Second, 0, 0, nil},
		"ahead":         {time.Second, 400 * time.Millisecond, 400 * time.Millisecond, nil},
		"back":          {time.Second, -400 * time.Millisecond, -400 * time.Millisecond, nil},
		"given early":   {time.Minute, time.Hour, 400 * time.Millisecond, []string{"before the end of its hold"}},
		"held too long": {time.Second, -time.Hour, -400 * time.Millisecond, []string{"after the end of its hold"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ahead := inMemory(t)
			mustFind(t, torture.NewWitnesses(r).CheckShortHold(c.ttl, func() { ahead.Store(int64(c.jumps)) }, c.said), c.want...)
		})
	}
}

// A run asks for its witnesses: a server that loses them, and nothing else, is found out.
func TestLostWitnessesAreFound(t *testing.T) {
	t.Parallel()
	notShort(t)
	for fault, want := range map[string]string{"power": "after the power failed", "clock": "with the clock"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			if _, why := testdisk.New(t); why != nil && fault == "power" {
				t.Skip(why)
			}
			cfg := config(t, "sqlite")
			cfg.Faults, cfg.Each = []string{fault}, 1
			cfg.Between(func(_ int, address string) string {
				l := &liar{every: 1, lie: func(l *liar, w http.ResponseWriter, path string, body []byte) bool {
					return bytes.Contains(body, []byte(`.witness.plain"`)) && dropWrite(l, w, path, body)
				}}
				return l.listen(t, address)
			})
			r := mustRun(t, cfg)
			if !slices.ContainsFunc(r.Violations, func(v torture.Violation) bool {
				return v.Kind == "witness" && strings.Contains(v.What, want) && strings.Contains(v.What, "an owned name is given away")
			}) {
				t.Errorf("found %+v", r.Violations)
			}
		})
	}
}
