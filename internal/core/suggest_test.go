package core_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
)

// Suggestions come from what the caller offers, then numbers, and every fourth is
// random.
func TestSuggestionsFromParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {Profile: lower{}, ReservedWords: dibs.WordList("alice-liddell")}})
	f.must(claim("slug", "alice", user1), claim("slug", "alice-2", user2))
	answers, err := f.Check(f.ctx, dibs.CheckRequest{
		Namespace: "slug", Values: []string{"Alice"}, Suggest: 10, Parts: []string{"Liddell", "Oxford", "1862!", "1862"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := answers[0].Suggestions
	random := got[3]
	want := []string{
		"alice-oxford", "alice-1862", "alice-liddell-oxford", random,
		"alice-3", "alice-4", "alice-5", got[7], "alice-6", "alice-7",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, name := range []string{got[3], got[7]} {
		if word, ok := strings.CutPrefix(name, "alice-"); !ok || len(word) != 4 || strings.ContainsAny(word, "0123456789") {
			t.Errorf("%q is not random", name)
		}
	}
	for _, name := range got { // what is offered can be had
		f.must(reserve("slug", name, dibs.NewToken()))
	}
}

// A value that is not valid is answered with one that is.
func TestSuggestionsForInvalid(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {Profile: lower{}}})
	e := f.refused(dibs.ErrInvalidValue, reserve("slug", "Alice!", token1))
	if e.Refusal == nil || e.Refusal.Rule != "exclamation" || e.Refusal.At != 5 || e.Refusal.Try != "Alice" {
		t.Errorf("%+v", e.Refusal)
	}
	if !strings.Contains(e.Message, `try "Alice"`) {
		t.Errorf("%q does not say what to try", e.Message)
	}
	if !slices.Equal(e.Suggestions, []string{"alice", "alice-2", "alice-3"}) {
		t.Errorf("%v", e.Suggestions)
	}
	f.must(claim("slug", "alice", user1))
	if got := f.check("slug", "ALICE!").Suggestions; !slices.Equal(got, []string{"alice-2", "alice-3", "alice-4"}) {
		t.Errorf("%v", got)
	}
}

// joins is a profile that makes names in its own manner, or none.
type joins struct {
	lower
	join func(canonical, word string) string
}

func (j joins) Join(canonical, word string) string { return j.join(canonical, word) }

// The profile says how names are joined. It may be wrong, or panic: nothing is offered
// that would be refused.
func TestSuggestionsAsTheProfileJoins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		join func(canonical, word string) string
		want []string
	}{
		{func(canonical, word string) string { return canonical + word }, []string{"alice2", "alice3", "alice4"}},
		{func(string, string) string { return "" }, nil},
		{func(string, string) string { return "not valid!" }, nil},
		{func(string, string) string { panic("broken") }, nil},
		{func(string, string) string { return "same" }, []string{"same"}},
	} {
		f := newFixture(t, map[string]dibs.Policy{"slug": {Profile: joins{join: c.join}}})
		f.must(claim("slug", "alice", user1))
		if got := f.check("slug", "alice").Suggestions; !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	f := newFixture(t, nil)
	_, err := f.Check(f.ctx, dibs.CheckRequest{Namespace: "slug", Parts: make([]string, 9)})
	f.checkError(err, dibs.ErrTooLarge)
}
