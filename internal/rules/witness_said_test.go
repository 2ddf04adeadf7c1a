package rules_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// What keeps a witness from knowing is told with how often it was asked, and when it is
// asked next.
func TestUnknownBecause(t *testing.T) {
	t.Parallel()
	w := &testimony{verdict: dibs.UnknownBecause("the order\nis being paid")}
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Witness: w.witness}})
	held := f.One(coretest.Reserve("slug", "x", coretest.Token1))
	if held.Asked != 0 || !held.AskAt.IsZero() {
		t.Errorf("a hold is asked about: %+v", held)
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
		t.Errorf("it is %s", outcome)
	}
	f.Must(dibs.Settle{ID: n.ID, Verdict: dibs.Exists(coretest.User1)})
	if n := f.NameOf("slug", "x"); n.Asked != 0 || !n.AskAt.IsZero() {
		t.Errorf("settled, and asked about: %+v", n)
	}
}

// A holder that comes back while the witness looks may save after the look. What the
// witness says then is about a hold that is over.
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
	if _, err := f.Sweep(f.Ctx, 1); err != nil { // more would ask about the hold's second end, too
		t.Fatal(err)
	}
	f.WantState("slug", "x", dibs.Suspect)
	f.SweepAll()
	f.WantState("slug", "x", dibs.Free)
	if len(w.asked) != 2 || !w.asked[1].ExpiresAt.After(w.asked[0].ExpiresAt) {
		t.Errorf("asked about %+v", w.asked)
	}
}

// The observer is told of every question.
func TestWitnessesAreObserved(t *testing.T) {
	t.Parallel()
	var (
		mu   sync.Mutex
		seen = make(map[string]string)
		now  = time.UnixMilli(1_000_000)
	)
	store := memstore.New(memstore.Config{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	says := map[string]func() (dibs.Verdict, error){
		"exists": func() (dibs.Verdict, error) { return dibs.Exists(coretest.User1), nil },
		"absent": func() (dibs.Verdict, error) { return dibs.Absent, nil },
		"fails":  func() (dibs.Verdict, error) { return dibs.Absent, errors.New("no line") },
		"panics": func() (dibs.Verdict, error) { panic("no") },
	}
	reg, err := core.Open(store, dibs.Config{
		Default: dibs.Policy{Witness: func(_ context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) { return says[hold.Value]() }},
		Observer: dibs.Observer{Witness: func(info dibs.WitnessInfo) {
			mu.Lock()
			defer mu.Unlock()
			outcome, _ := info.Verdict.Outcome()
			if info.Err != nil {
				outcome = "failed"
			}
			seen[info.Hold.Value] = outcome
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reg.Close() }()
	for value := range says {
		if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	now = now.Add(time.Hour)
	mu.Unlock()
	if _, err := reg.Sweep(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{"exists": "exists", "absent": "absent", "fails": "failed", "panics": "failed"} {
		if seen[value] != want {
			t.Errorf("%s was observed as %q", value, seen[value])
		}
	}
}
