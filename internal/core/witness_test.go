package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// testimony is a witness whose word can be changed.
type testimony struct {
	verdict dibs.Verdict
	err     error
	asked   []dibs.SuspectHold
}

func (w *testimony) witness(_ context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
	w.asked = append(w.asked, hold)
	return w.verdict, w.err
}

// meanwhile is the witness, with something that happens while it is being asked.
func (w *testimony) meanwhile(something func()) dibs.Witness {
	return func(ctx context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
		something()
		return w.witness(ctx, hold)
	}
}

func TestWitness(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T, intended dibs.Entity) (*fixture, *testimony) {
		w := new(testimony)
		f := newFixture(t, map[string]dibs.Policy{"slug": {Witness: w.witness}})
		f.must(dibs.Reserve{Namespace: "slug", Value: "x", Token: token1, Entity: intended, CorrelationID: "c", Meta: map[string]string{"k": "v"}})
		f.clock.advance(aHold)
		return f, w
	}
	t.Run("exists", func(t *testing.T) {
		t.Parallel()
		f, w := setup(t, nobody)
		w.verdict = dibs.Exists(user1)
		if r := f.sweep(); r.Suspects != 1 || r.Settled != 1 {
			t.Errorf("the sweep reports %+v", r)
		}
		f.wantLeads("slug", "x", 200, "")
		wantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventSuspected, dibs.EventConfirmed)
		if a := w.asked[0]; a.Value != "x" || a.CorrelationID != "c" || a.Meta["k"] != "v" || a.Epoch != 1 {
			t.Errorf("it was asked about %+v", a)
		}
	})
	t.Run("absent", func(t *testing.T) {
		t.Parallel()
		f, w := setup(t, user1)
		w.verdict = dibs.Absent
		f.sweep()
		f.wantState("slug", "x", dibs.Free)
		wantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventSuspected, dibs.EventExpired)
		if w.asked[0].Entity != user1 {
			t.Errorf("it was asked about %v", w.asked[0].Entity)
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		for says, prepare := range map[string]func(f *fixture){
			"has a name":           func(f *fixture) { f.must(claim("slug", "y", user1)) },
			"archived":             func(f *fixture) { f.must(claim("other", "y", user1), dibs.Archive{Entity: user1}) },
			"an entity other than": nil,
		} {
			f, w := setup(t, map[bool]dibs.Entity{true: user2}[prepare == nil])
			if prepare != nil {
				prepare(f)
			}
			w.verdict = dibs.Exists(user1)
			f.sweep()
			n := f.name("slug", "x")
			if n.State != dibs.Suspect || !strings.Contains(n.Doubt, says) {
				t.Errorf("it is %s, with the doubt %q, want %q", n.State, n.Doubt, says)
			}
			wantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventSuspected)
		}
	})
	t.Run("unknown, with growing pauses", func(t *testing.T) {
		t.Parallel()
		f, w := setup(t, nobody)
		f.sweep()
		pause := 5 * time.Second
		for want := 1; want <= 20; want++ {
			if len(w.asked) != want {
				t.Fatalf("asked %d times, want %d", len(w.asked), want)
			}
			f.clock.advance(pause - time.Millisecond)
			f.sweep()
			if len(w.asked) != want {
				t.Fatalf("asked too early, after %v", pause)
			}
			f.clock.advance(time.Millisecond)
			f.sweep()
			pause = min(2*pause, time.Hour)
		}
		wantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventSuspected)
		// A hold that came back to life begins anew.
		f.must(dibs.Settle{ID: dibs.NameID("slug", "x"), Verdict: dibs.Absent})
		f.must(reserve("slug", "x", token2))
		f.clock.advance(aHold)
		f.sweep()
		f.clock.advance(5 * time.Second)
		before := len(w.asked)
		f.sweep()
		if len(w.asked) != before+1 {
			t.Error("the pauses of one hold are another's")
		}
	})
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		f, w := setup(t, nobody)
		w.err, w.verdict = errors.New("no line"), dibs.Absent
		f.sweep()
		if n := f.name("slug", "x"); n.State != dibs.Suspect || !strings.Contains(n.Doubt, "no line") {
			t.Errorf("it is %s, with the doubt %q", n.State, n.Doubt)
		}
		// An extended suspect is a hold like any other, without a doubt.
		n := f.one(dibs.Extend{ID: dibs.NameID("slug", "x"), Token: token1})
		if n.State != dibs.Held || n.Doubt != "" || n.Status != dibs.StatusReserved {
			t.Errorf("extended to %+v", n)
		}
		f.clock.advance(aHold)
		f.wantState("slug", "x", dibs.Suspect)
	})
}
