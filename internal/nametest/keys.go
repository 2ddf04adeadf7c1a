package nametest

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

var (
	keyA = dibs.BlindKey{ID: "a", Secret: bytes.Repeat([]byte("A"), 32)}
	keyB = dibs.BlindKey{ID: "b", Secret: bytes.Repeat([]byte("B"), 32)}
	keyC = dibs.BlindKey{ID: "c", Secret: bytes.Repeat([]byte("C"), 32)}
)

// Keys races for blind values with registries that have different keys and one common
// key, as during a rotation. Each value has one winner.
func Keys(t *testing.T, newHarness func(tb testing.TB) *Harness) {
	t.Helper()
	for _, c := range []struct {
		name       string
		some, rest []dibs.BlindKey
	}{
		{"OldAndBoth", []dibs.BlindKey{keyA}, []dibs.BlindKey{keyB, keyA}},
		{"BothAndNew", []dibs.BlindKey{keyB, keyA}, []dibs.BlindKey{keyB}},
		{"BothAndNext", []dibs.BlindKey{keyB, keyA}, []dibs.BlindKey{keyC, keyB}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var cfgs []dibs.Config
			for _, keys := range [][]dibs.BlindKey{c.some, c.rest, c.some, c.rest} {
				cfgs = append(cfgs, dibs.Config{Policies: map[string]dibs.Policy{
					"email": {Blind: keys},
					"login": {Blind: keys, Skeleton: coretest.Digits{}},
				}})
			}
			regs := newHarness(t).openAll(t, cfgs...)
			raceByKeys(t, regs, "email", false)
			raceByKeys(t, regs, "login", true)
		})
	}
}

// raceByKeys lets every registry claim every value concurrently. If alike is set, half of
// them claim a look-alike.
func raceByKeys(t *testing.T, regs []*dibs.Registry, namespace string, alike bool) {
	t.Helper()
	values := rounds(30, 12)
	asked := func(reg, value int) string {
		if alike && reg >= len(regs)/2 {
			return spell(value, 1) + "@example.com"
		}
		return spell(value, 0) + "@example.com"
	}
	entity := func(reg, value int) dibs.Entity { return user(reg, "for", value) }
	var (
		mu      sync.Mutex
		winners = make(map[int]int) // by value, the registry
	)
	atOnce(len(regs)*values, func(i int) {
		reg, value := i%len(regs), i/len(regs)
		_, err := regs[reg].Claim(t.Context(), dibs.Claim{Namespace: namespace, Value: asked(reg, value), Entity: entity(reg, value)})
		if errors.Is(err, dibs.ErrNameTaken) {
			return
		} else if err != nil {
			t.Errorf("a loser got %v", err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if other, taken := winners[value]; taken {
			t.Errorf("%s went to %s and to %s", asked(reg, value), entity(other, value), entity(reg, value))
		}
		winners[value] = reg
	})
	for value := range values {
		winner, taken := winners[value]
		if !taken {
			t.Errorf("no caller got %s", asked(0, value))
			continue
		}
		name, owner := asked(winner, value), entity(winner, value)
		for i, reg := range regs {
			r, err := reg.Resolve(t.Context(), namespace, name)
			if err != nil || r.Outcome != dibs.ResolveActive || r.Entity != owner {
				t.Errorf("registry %d resolves %[4]s to %+[2]v, %[3]v; its owner is %[5]s", i, r, err, name, owner)
			}
		}
	}
	claimed := 0
	eachEvent(t, regs[0], func(e *dibs.Event) {
		if e.Kind == dibs.EventClaimed && e.Namespace == namespace {
			claimed++
		}
	})
	if claimed != values {
		t.Errorf("%d values were claimed %d times", values, claimed)
	}
}
