package rules_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
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
	setup := func(t *testing.T, intended dibs.Entity) (*coretest.Fixture, *testimony) {
		w := new(testimony)
		f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Witness: w.witness}})
		f.Must(dibs.Reserve{Namespace: "slug", Value: "x", Token: coretest.Token1, Entity: intended, CorrelationID: "c", Meta: map[string]string{"k": "v"}})
		f.Clock.Advance(aHold)
		return f, w
	}
	t.Run("exists", func(t *testing.T) {
		t.Parallel()
		f, w := setup(t, nobody)
		w.verdict = dibs.Exists(coretest.User1)
		if r := f.SweepAll(); r.Suspects != 1 || r.Settled != 1 {
			t.Errorf("the sweep reports %+v", r)
		}
		f.WantLeads("slug", "x", 200, "")
		coretest.WantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventSuspected, dibs.EventConfirmed)
		if a := w.asked[0]; a.Value != "x" || a.CorrelationID != "c" || a.Meta["k"] != "v" || a.Epoch != 1 {
			t.Errorf("it was asked about %+v", a)
		}
	})
	t.Run("absent", func(t *testing.T) {
		t.Parallel()
		f, w := setup(t, coretest.User1)
		w.verdict = dibs.Absent
		f.SweepAll()
		f.WantState("slug", "x", dibs.Free)
		coretest.WantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventSuspected, dibs.EventExpired)
		if w.asked[0].Entity != coretest.User1 {
			t.Errorf("it was asked about %v", w.asked[0].Entity)
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		for says, prepare := range map[string]func(f *coretest.Fixture){
			"has a name": func(f *coretest.Fixture) { f.Must(coretest.Claim("slug", "y", coretest.User1)) },
			"archived": func(f *coretest.Fixture) {
				f.Must(coretest.Claim("other", "y", coretest.User1), dibs.Archive{Entity: coretest.User1})
			},
			"another entity": nil,
		} {
			f, w := setup(t, map[bool]dibs.Entity{true: coretest.User2}[prepare == nil])
			if prepare != nil {
				prepare(f)
			}
			w.verdict = dibs.Exists(coretest.User1)
			f.SweepAll()
			n := f.NameOf("slug", "x")
			if n.State != dibs.Suspect || !strings.Contains(n.Doubt, says) {
				t.Errorf("it is %s, with the doubt %q, want %q", n.State, n.Doubt, says)
			}
			coretest.WantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventSuspected)
		}
	})
	t.Run("unknown, with growing pauses", func(t *testing.T) {
		t.Parallel()
		f, w := setup(t, nobody)
		f.SweepAll()
		pause := 5 * time.Second
		for want := 1; want <= 20; want++ {
			if len(w.asked) != want {
				t.Fatalf("asked %d times, want %d", len(w.asked), want)
			}
			f.Clock.Advance(pause - time.Millisecond)
			f.SweepAll()
			if len(w.asked) != want {
				t.Fatalf("asked too early, after %v", pause)
			}
			f.Clock.Advance(time.Millisecond)
			f.SweepAll()
			pause = min(2*pause, time.Hour)
		}
		coretest.WantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventSuspected)
		// A hold that came back to life begins anew.
		f.Must(dibs.Settle{ID: dibs.NameID("slug", "x"), Verdict: dibs.Absent})
		f.Must(coretest.Reserve("slug", "x", coretest.Token2))
		f.Clock.Advance(aHold)
		f.SweepAll()
		f.Clock.Advance(5 * time.Second)
		before := len(w.asked)
		f.SweepAll()
		if len(w.asked) != before+1 {
			t.Error("the pauses of one hold are another's")
		}
	})
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		f, w := setup(t, nobody)
		w.err, w.verdict = errors.New("no line"), dibs.Absent
		f.SweepAll()
		if n := f.NameOf("slug", "x"); n.State != dibs.Suspect || !strings.Contains(n.Doubt, "no line") {
			t.Errorf("it is %s, with the doubt %q", n.State, n.Doubt)
		}
		// An extended suspect is a hold like any other, without a doubt.
		n := f.One(dibs.Extend{ID: dibs.NameID("slug", "x"), Token: coretest.Token1})
		if n.State != dibs.Held || n.Doubt != "" || n.Status != dibs.StatusReserved {
			t.Errorf("extended to %+v", n)
		}
		f.Clock.Advance(aHold)
		f.WantState("slug", "x", dibs.Suspect)
	})
}
