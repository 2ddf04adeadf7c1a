package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// Suggestions come from what the caller offers, then numbers, and every fourth is
// random.
func TestSuggestionsFromParts(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}, ReservedWords: dibs.WordList("alice-liddell")}})
	f.Must(coretest.Claim("slug", "alice", coretest.User1), coretest.Claim("slug", "alice-2", coretest.User2))
	answers, err := f.Check(f.Ctx, dibs.CheckRequest{
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
		f.Must(coretest.Reserve("slug", name, dibs.NewToken()))
	}
}

// A value that is not valid is answered with one that is.
func TestSuggestionsForInvalid(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}}})
	e := f.Refused(dibs.ErrInvalidValue, coretest.Reserve("slug", "Alice!", coretest.Token1))
	if e.Refusal == nil || e.Refusal.Rule != "exclamation" || e.Refusal.At != 5 || e.Refusal.Try != "Alice" {
		t.Errorf("%+v", e.Refusal)
	}
	if !strings.Contains(e.Message, `try "Alice"`) {
		t.Errorf("%q does not say what to try", e.Message)
	}
	if !slices.Equal(e.Suggestions, []string{"alice", "alice-2", "alice-3"}) {
		t.Errorf("%v", e.Suggestions)
	}
	f.Must(coretest.Claim("slug", "alice", coretest.User1))
	if got := f.CheckOne("slug", "ALICE!").Suggestions; !slices.Equal(got, []string{"alice-2", "alice-3", "alice-4"}) {
		t.Errorf("%v", got)
	}
}

// joins is a profile that makes names in its own manner, or none.
type joins struct {
	coretest.Lower
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
		f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: joins{join: c.join}}})
		f.Must(coretest.Claim("slug", "alice", coretest.User1))
		if got := f.CheckOne("slug", "alice").Suggestions; !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	f := coretest.NewFixture(t, nil)
	_, err := f.Check(f.Ctx, dibs.CheckRequest{Namespace: "slug", Parts: make([]string, 9)})
	f.CheckError(err, dibs.ErrTooLarge)
}
