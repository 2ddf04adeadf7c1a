package rules_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/rules"
)

// testimony is a witness with an answer that tests can change. It records what it is asked.
type testimony struct {
	verdict dibs.Verdict
	err     error
	asked   []dibs.SuspectHold
}

func (w *testimony) witness(_ context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
	w.asked = append(w.asked, hold)
	return w.verdict, w.err
}

// meanwhile returns the witness with a function that runs while it is asked.
func (w *testimony) meanwhile(fn func()) dibs.Witness {
	return func(ctx context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
		fn()
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
		f, w := setup(t, noEntity)
		w.verdict = dibs.Exists(coretest.User1)
		if r := f.SweepAll(); r.Suspects != 1 || r.Settled != 1 {
			t.Errorf("the sweep reports %+v", r)
		}
		f.WantResolve("slug", "x", 200, "")
		f.WantKinds("slug", "x", dibs.EventReserved, dibs.EventSuspected, dibs.EventConfirmed)
		if a := w.asked[0]; a.Value != "x" || a.CorrelationID != "c" || a.Meta["k"] != "v" || a.Epoch != 1 {
			t.Errorf("it was asked about %+v", a)
		}
	})
	t.Run("absent", func(t *testing.T) {
		t.Parallel()
		f, w := setup(t, coretest.User1)
		w.verdict = dibs.Absent
		if r := f.SweepAll(); r.Suspects != 1 || r.Settled != 1 {
			t.Errorf("the sweep reports %+v", r)
		}
		f.WantState("slug", "x", dibs.Free)
		f.WantKinds("slug", "x", dibs.EventReserved, dibs.EventSuspected, dibs.EventExpired)
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
			"an entity other than": nil,
		} {
			f, w := setup(t, map[bool]dibs.Entity{true: coretest.User2}[prepare == nil])
			if prepare != nil {
				prepare(f)
			}
			w.verdict = dibs.Exists(coretest.User1)
			if r := f.SweepAll(); r.Suspects != 1 || r.Settled != 0 {
				t.Errorf("%s: the sweep reports %+v", says, r)
			}
			n := f.NameOf("slug", "x")
			if n.State != dibs.Suspect || !strings.Contains(n.Doubt, says) {
				t.Errorf("it is %s, with the doubt %q, want %q", n.State, n.Doubt, says)
			}
			f.WantKinds("slug", "x", dibs.EventReserved, dibs.EventSuspected)
		}
	})
	t.Run("no valid entity", func(t *testing.T) {
		t.Parallel()
		f, w := setup(t, noEntity)
		w.verdict = dibs.Exists(dibs.Entity{Type: "user"})
		f.SweepAll()
		if n := f.NameOf("slug", "x"); n.State != dibs.Suspect || n.Doubt == "" {
			t.Errorf("the name is %s, with the doubt %q", n.State, n.Doubt)
		}
	})
	t.Run("unknown, with growing pauses", func(t *testing.T) {
		t.Parallel()
		f, w := setup(t, noEntity)
		f.SweepAll()
		if n := f.NameOf("slug", "x"); n.State != dibs.Suspect || n.Doubt == "" {
			t.Errorf("the name is %s, with the doubt %q", n.State, n.Doubt)
		}
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
		f.WantKinds("slug", "x", dibs.EventReserved, dibs.EventSuspected)
		// The pauses of the next hold start from the beginning.
		f.Must(dibs.Settle{ID: dibs.NameID("slug", "x"), Verdict: dibs.Absent})
		f.Must(coretest.Reserve("slug", "x", coretest.Token2))
		f.Clock.Advance(aHold)
		f.SweepAll()
		f.Clock.Advance(5 * time.Second)
		before := len(w.asked)
		f.SweepAll()
		if len(w.asked) != before+1 {
			t.Error("the pauses of the hold before apply to the next one")
		}
	})
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		f, w := setup(t, noEntity)
		w.err, w.verdict = errors.New("no line"), dibs.Absent
		f.SweepAll()
		if n := f.NameOf("slug", "x"); n.State != dibs.Suspect || !strings.Contains(n.Doubt, "no line") {
			t.Errorf("it is %s, with the doubt %q", n.State, n.Doubt)
		}
		// An extended suspect is a hold without a doubt.
		n := f.One(dibs.Extend{ID: dibs.NameID("slug", "x"), Token: coretest.Token1})
		if n.State != dibs.Held || n.Doubt != "" || n.Status != dibs.StatusReserved {
			t.Errorf("extended to %+v", n)
		}
		f.Clock.Advance(aHold)
		f.WantState("slug", "x", dibs.Suspect)
	})
}

// The text of a witness may be anything. It is stored as text that every engine accepts.
func TestDoubtIsPlainText(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) {
		return dibs.Unknown, errors.New("\x00bad\xff" + strings.Repeat("é", 300))
	}}})
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	f.Clock.Advance(aHold)
	f.SweepAll()
	doubt := f.NameOf("slug", "x").Doubt
	if !utf8.ValidString(doubt) || strings.ContainsRune(doubt, 0) || len(doubt) > 300 || !strings.Contains(doubt, "bad") {
		t.Errorf("%q", doubt)
	}
}

// Sweepers without the witness do not lengthen the pauses of the one that has it.
func TestSweepersWithoutTheWitnessDoNotDelayIt(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Witness: coretest.AlwaysUnknown}})
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	without := f.Reopened(nil)
	f.Clock.Advance(aHold)
	for range 10 {
		without.SweepAll()
		f.Clock.Advance(5 * time.Second)
	}
	if report := f.SweepAll(); report.Suspects != 1 {
		t.Errorf("after ten sweeps without the witness the suspect is not due: %+v", report)
	}
}

// A suspect shows why its witness does not know, how often it was asked, and when it is asked next.
func TestUnknownBecause(t *testing.T) {
	t.Parallel()
	w := &testimony{verdict: dibs.UnknownBecause("the order\nis being paid")}
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Witness: w.witness}})
	held := f.One(coretest.Reserve("slug", "x", coretest.Token1))
	if held.Asked != 0 || !held.AskAt.IsZero() {
		t.Errorf("the witness of a hold was asked: %+v", held)
	}
	f.Clock.Advance(aHold)
	if n := f.NameOf("slug", "x"); n.Asked != 0 || !n.AskAt.Equal(n.ExpiresAt) {
		t.Errorf("asked %d times before the sweep, next at %v", n.Asked, n.AskAt)
	}
	f.SweepAll()
	n := f.NameOf("slug", "x")
	if n.Doubt != "the witness does not know: the order is being paid" || n.Asked != 1 || !n.AskAt.After(n.ExpiresAt) {
		t.Errorf("the doubt is %q, asked %d times, next at %v", n.Doubt, n.Asked, n.AskAt)
	}
	if asked := w.asked[0]; asked.AskedAt.Before(n.ExpiresAt) {
		t.Errorf("asked at %v about a hold that ends at %v", asked.AskedAt, n.ExpiresAt)
	}
	page, err := f.List(t.Context(), dibs.NamesQuery{State: dibs.Suspect})
	if err != nil || len(page.Names) != 1 || page.Names[0].Asked != 1 {
		t.Errorf("listed as %+v, %v", page.Names, err)
	}
	if outcome, _ := w.verdict.Outcome(); outcome != "unknown" {
		t.Errorf("the outcome is %s, want unknown", outcome)
	}
	f.Must(dibs.Settle{ID: n.ID, Verdict: dibs.Exists(coretest.User1)})
	if n := f.NameOf("slug", "x"); n.Asked != 0 || !n.AskAt.IsZero() {
		t.Errorf("settled, but the witness is still to be asked: %+v", n)
	}
}

// A holder that extends its hold while the witness is asked may save afterwards. The verdict is about
// the earlier end, and is ignored.
func TestVerdictAboutAnEarlierEnd(t *testing.T) {
	t.Parallel()
	w := &testimony{verdict: dibs.Absent}
	back := func() {}
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Witness: w.meanwhile(func() { back() })}})
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	f.Clock.Advance(aHold)
	back = func() {
		f.Must(dibs.Extend{ID: dibs.NameID("slug", "x"), Token: coretest.Token1})
		f.Clock.Advance(aHold)
		back = func() {}
	}
	if _, err := f.Sweep(f.Ctx, 1); err != nil { // a higher limit would also ask about the second end
		t.Fatal(err)
	}
	f.WantState("slug", "x", dibs.Suspect)
	f.SweepAll()
	f.WantState("slug", "x", dibs.Free)
	if len(w.asked) != 2 || !w.asked[1].ExpiresAt.After(w.asked[0].ExpiresAt) {
		t.Errorf("asked about %+v", w.asked)
	}
}

// A verdict about a hold that has ended changes nothing, even if another hold has followed.
func TestLateVerdict(t *testing.T) {
	t.Parallel()
	var f *coretest.Fixture
	id := dibs.NameID("slug", "x")
	var settle func()
	policy := dibs.Policy{}
	w := &testimony{verdict: dibs.Exists(coretest.User2)}
	policy.Witness = w.meanwhile(func() { settle() })
	f = coretest.NewFixture(t, map[string]dibs.Policy{"slug": policy})
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))

	settle = func() { f.Must(dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1}) }
	f.Clock.Advance(aHold)
	f.SweepAll()
	if n := f.NameOf("slug", "x"); n.Entity != coretest.User1 || n.Doubt != "" {
		t.Errorf("its entity is %v, with the doubt %q", n.Entity, n.Doubt)
	}

	f.Must(coretest.Decommission("slug", "x", coretest.User1))
	again := dibs.NewToken()
	f.Must(coretest.Reserve("slug", "x", again))
	settle = func() {
		f.Must(dibs.Release{ID: id, Token: again}, coretest.Reserve("slug", "x", coretest.Token2))
		f.Clock.Advance(aHold) // the next hold is a suspect now
	}
	f.Clock.Advance(aHold)
	if _, err := f.Sweep(f.Ctx, 1); err != nil { // a higher limit would also ask about the next hold
		t.Fatal(err)
	}
	if n := f.NameOf("slug", "x"); n.State != dibs.Suspect || n.Epoch != 3 {
		t.Errorf("the verdict on epoch 2 made epoch %d %s", n.Epoch, n.State)
	}
}

// A Settle with Exists is refused for the reasons of a Confirm.
func TestSettleExists(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, matrixPolicies())
	f.Must(reserveFor(watched, coretest.Token1, coretest.User1))
	f.Clock.Advance(aHold)
	exists := func(entity dibs.Entity) dibs.Settle {
		return dibs.Settle{ID: dibs.NameID(watched, "x"), Verdict: dibs.Exists(entity)}
	}
	f.Refused(dibs.ErrNotOwner, exists(coretest.User2))
	f.Must(coretest.Claim(plain, "y", coretest.User1), dibs.Archive{Entity: coretest.User1})
	f.Refused(dibs.ErrEntityArchived, exists(coretest.User1))
	f.Must(dibs.Restore{Entity: coretest.User1}, coretest.Claim(watched, "y", coretest.User1))
	f.Refused(dibs.ErrEntityHasName, exists(coretest.User1))
	f.Must(coretest.Decommission(watched, "y", coretest.User1))
	if n := f.One(exists(coretest.User1)); n.State != dibs.Active || n.Entity != coretest.User1 || n.Epoch != 1 {
		t.Errorf("settled as %+v", n)
	}
	f.Replayed(exists(coretest.User1))
	f.WantKinds(watched, "x", dibs.EventReserved, dibs.EventSuspected, dibs.EventConfirmed)
}

// A suspect that was reserved out of quarantine returns to it until the quarantine ends.
func TestSettleAbsentOutOfQuarantine(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]dibs.State{0: dibs.Quarantined, anHour: dibs.Free} {
		policy := matrixPolicies()[watched]
		policy.Quarantine = anHour
		f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": policy})
		toHeldOut(f, "slug")
		f.Clock.Advance(aHold)
		f.WantState("slug", "x", dibs.Suspect)
		f.Clock.Advance(late)
		f.Must(dibs.Settle{ID: dibs.NameID("slug", "x"), Verdict: dibs.Absent})
		f.WantState("slug", "x", want)
	}
}

// A testimony is recorded after the end of the hold, also if no sweep has recorded that. One that
// names no valid entity says so.
func TestTestimonyBeforeTheSweep(t *testing.T) {
	t.Parallel()
	policies := map[string]dibs.Policy{"slug": {Witness: coretest.AlwaysUnknown}}
	for verdict, doubt := range map[dibs.Verdict]string{
		dibs.Unknown: "not there yet", dibs.Exists(dibs.Entity{}): "the witness says that it exists but names no valid entity",
	} {
		f := coretest.NewFixture(t, policies)
		n := f.One(coretest.Reserve("slug", "x", coretest.Token1))
		f.Clock.Advance(aHold)
		commit(f, mustPolicies(t, policies).Testify(rules.Testimony{
			ID: n.ID, Epoch: n.Epoch, Expires: n.ExpiresAt, Verdict: verdict, Doubt: "not there yet",
		}).Request)
		f.WantKinds("slug", "x", dibs.EventReserved, dibs.EventSuspected)
		if n := f.NameOf("slug", "x"); n.Doubt != doubt || n.Asked != 1 {
			t.Errorf("the doubt is %q after %d questions, want %q", n.Doubt, n.Asked, doubt)
		}
	}
}

// With its end, a suspect loses its doubt, and when its witness is to be asked.
func TestDoubtEnds(t *testing.T) {
	t.Parallel()
	policies := map[string]dibs.Policy{"slug": {Witness: coretest.AlwaysUnknown}}
	id := dibs.NameID("slug", "x")
	for what, end := range map[string]dibs.Command{
		"absent":  dibs.Settle{ID: id, Verdict: dibs.Absent},
		"exists":  dibs.Settle{ID: id, Verdict: dibs.Exists(coretest.User1)},
		"release": dibs.Release{ID: id, Token: coretest.Token1},
		"confirm": dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1},
		"extend":  dibs.Extend{ID: id, Token: coretest.Token1},
	} {
		f := coretest.NewFixture(t, policies)
		n := f.One(coretest.Reserve("slug", "x", coretest.Token1))
		f.Clock.Advance(aHold)
		commit(f, mustPolicies(t, policies).Testify(rules.Testimony{ID: n.ID, Epoch: n.Epoch, Expires: n.ExpiresAt, Verdict: dibs.Unknown, Doubt: "not there yet"}).Request)
		f.Must(end)
		if row := f.Records(dibs.KindName)[0].(*dibs.NameRecord); row.Doubt != "" || row.AskAt != 0 {
			t.Errorf("%s: the doubt is %q, to be asked at %s", what, row.Doubt, row.AskAt)
		}
	}
}
