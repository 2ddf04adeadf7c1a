package core_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/profile"
)

// No suggestion is the name that was refused, each could be reserved, and what a refusal says to try
// is not refused for the same kind of reason.
func TestSuggestionsAreOthers(t *testing.T) {
	t.Parallel()
	words := dibs.WordList("admin", "root", "alice-2")
	policies := map[string]dibs.Policy{
		"slug":     {Profile: profile.Slug{}, ReservedWords: words},
		"username": {Profile: profile.OneScript(profile.Username{MinLength: 3}), Skeleton: profile.Confusables, ReservedWords: words},
		"host":     {Profile: profile.Hostname{}, ReservedWords: words, Quarantine: time.Hour},
	}
	value := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "@", " ", "_", "-"}).Draw(t, "before") +
			rapid.SampledFrom([]string{"alice", "Alice", "a1ice", "аlice", "admin", "Admin", "alice-2", "alice-3", "root", "al ice", "x"}).Draw(t, "stem") +
			rapid.SampledFrom([]string{"", "!", ".", "_", " ", "-2"}).Draw(t, "after")
	})
	rapid.Check(t, func(rt *rapid.T) {
		f := coretest.NewFixture(t, policies)
		namespace := rapid.SampledFrom([]string{"slug", "username", "host"}).Draw(rt, "namespace")
		for i, taken := range rapid.SliceOfN(value, 0, 6).Draw(rt, "taken") {
			owner := dibs.Entity{Type: "user", ID: string(rune('a' + i))}
			_, err := f.Claim(f.Ctx, dibs.Claim{Namespace: namespace, Value: taken, Entity: owner})
			if err == nil && rapid.Bool().Draw(rt, "given up") {
				_, _ = f.Delete(f.Ctx, dibs.Delete{Entity: owner})
			}
		}
		check := func(values ...string) []dibs.Availability {
			answers, err := f.Check(f.Ctx, dibs.CheckRequest{Namespace: namespace, Values: values, Suggest: 10, Parts: []string{"admin", "berlin"}})
			if err != nil {
				rt.Fatal(err)
			}
			return answers
		}
		for _, a := range check(rapid.SliceOfN(value, 1, 4).Draw(rt, "wanted")...) {
			for _, suggestion := range a.Suggestions {
				if s := check(suggestion)[0]; !s.Available || s.Canonical == a.Canonical || suggestion == a.Value {
					rt.Errorf("for %q (%s, %q) it suggests %q: %+v", a.Value, a.Reason, a.Canonical, suggestion, s)
				}
			}
			if a.Refusal == nil || a.Refusal.Try == "" {
				continue
			}
			if s := check(a.Refusal.Try)[0]; s.Reason == dibs.ReasonInvalid || s.Reason == dibs.ReasonReservedWord {
				rt.Errorf("for %q it says to try %q: %+v", a.Value, a.Refusal.Try, s)
			}
		}
	})
}

// A name whose hold ends between the refusal and the suggestions is not suggested: it was refused.
func TestSuggestionsOfANameThatBecomesFree(t *testing.T) {
	t.Parallel()
	var store *lapsing
	f := coretest.NewFixtureOn(t, dibs.Config{}, func(engine *memstore.Store) dibs.Store {
		store = &lapsing{Store: engine}
		return store
	})
	f.Must(coretest.Reserve("slug", "alice", coretest.Token1))
	store.after = func() { f.Clock.Advance(time.Hour) }
	_, err := f.Reserve(f.Ctx, dibs.Reserve{Namespace: "slug", Value: "alice"})
	if e := f.WantError(err, dibs.ErrNameTaken); slices.Contains(e.Suggestions, "alice") || len(e.Suggestions) == 0 {
		t.Errorf("it suggests %v", e.Suggestions)
	}
}

// lapsing is a store that calls a function after each load.
type lapsing struct {
	dibs.Store
	after func()
}

func (l *lapsing) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	result, err := l.Store.Load(ctx, refs)
	if l.after != nil {
		l.after()
	}
	return result, err
}

// Each refusal of a list has suggestions of its own.
func TestSuggestionsOfAList(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Reserve("slug", "a", coretest.Token1), coretest.Reserve("email", "b", coretest.Token1))
	_, err := f.ReserveAll(f.Ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{
		{Namespace: "slug", Value: "a"}, {Namespace: "slug", Value: "free"}, {Namespace: "email", Value: "b"},
	}})
	e := f.WantError(err, dibs.ErrNameTaken)
	if len(e.Failures) != 2 || e.Failures[0].Err.Suggestions[0] != "a-2" || e.Failures[1].Err.Suggestions[0] != "b-2" {
		t.Errorf("%+v", e)
	}
	quiet := coretest.MustOpen(t, f.Engine, dibs.Config{Suggestions: -1})
	_, err = quiet.Reserve(f.Ctx, dibs.Reserve{Namespace: "slug", Value: "a"})
	if e := f.WantError(err, dibs.ErrNameTaken); len(e.Suggestions) != 0 {
		t.Errorf("with Suggestions: -1 there are %v", e.Suggestions)
	}
}

// Suggestions take one more load, however many there are and however many names are taken.
func TestSuggestionsLoadOnce(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "alice", coretest.User1), coretest.Claim("slug", "alice-2", coretest.User2), coretest.Claim("slug", "a1ice-3", coretest.User3))
	store := &loadCounter{Store: f.Engine}
	reg := coretest.MustOpen(t, store, dibs.Config{Policies: coretest.NoLookAlikes(dibs.Policy{})})
	_, err := reg.Check(f.Ctx, dibs.CheckRequest{Namespace: "slug", Values: []string{"alice", "alice-2", "free"}, Suggest: 10})
	if err != nil || store.loads > 2 {
		t.Errorf("a check with suggestions: %d loads, %v", store.loads, err)
	}
	store.loads = 0
	_, err = reg.Reserve(f.Ctx, dibs.Reserve{Namespace: "slug", Value: "alice"})
	e := f.WantError(err, dibs.ErrNameTaken)
	if store.loads != 2 || len(e.Suggestions) != 3 { // one load is for the decision
		t.Errorf("a refusal with suggestions: %d loads, %v", store.loads, e.Suggestions)
	}
}
