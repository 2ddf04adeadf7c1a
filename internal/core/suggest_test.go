package core_test

import (
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

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
