package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/rules"
)

// Suggestions come from the caller's parts, then from numbers. Every fourth one is random.
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
	for _, name := range got { // every suggestion is free
		f.Must(coretest.Reserve("slug", name, dibs.NewToken()))
	}
}

// The suggestions for an invalid value are valid.
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
	if got := checkOne(f, "slug", "ALICE!").Suggestions; !slices.Equal(got, []string{"alice-2", "alice-3", "alice-4"}) {
		t.Errorf("%v", got)
	}
}

// joins is a profile with a Join of its own.
type joins struct {
	coretest.Lower
	join func(canonical, word string) string
}

func (j joins) Join(canonical, word string) string { return j.join(canonical, word) }

// The profile joins names and words. If it is wrong or panics, no name is suggested that would be
// refused.
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
		if got := checkOne(f, "slug", "alice").Suggestions; !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	f := coretest.NewFixture(t, nil)
	_, err := f.Check(f.Ctx, dibs.CheckRequest{Namespace: "slug", Parts: make([]string, 9)})
	f.WantError(err, dibs.ErrTooLarge)
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {ReservedWords: dibs.WordList("spring-3")}})
	f.Must(coretest.Reserve("slug", "spring", coretest.Token1))
	f.Must(coretest.Reserve("slug", "spring-2", coretest.Token1))
	long := strings.Repeat("é", 512) // the longest valid value
	f.Must(coretest.Reserve("slug", long, coretest.Token1))
	for i := range 20 {
		f.Must(coretest.Reserve("slug", fmt.Sprint("crowd-", i+2), coretest.Token1))
	}
	f.Must(coretest.Reserve("slug", "crowd", coretest.Token1))
	f.Must(coretest.Reserve("slug", "part-1", coretest.Token1), coretest.Reserve("slug", "-2", coretest.Token1))

	suggest := func(value string, n int) []string {
		t.Helper()
		answers, err := f.Check(f.Ctx, dibs.CheckRequest{Namespace: "slug", Values: []string{value}, Suggest: n})
		if err != nil {
			t.Fatal(err)
		}
		return answers[0].Suggestions
	}
	for _, c := range []struct {
		value string
		n     int
		want  []string
	}{
		{"spring", 2, []string{"spring-4", "spring-5"}},   // 2 is taken, 3 a reserved word
		{"spring-2", 2, []string{"spring-4", "spring-5"}}, // not spring-2-2
		{"part-1", 1, []string{"part-1-2"}},               // only numbers that a suggestion could have
		{"-2", 1, []string{"-2-2"}},
		{"spring", 0, nil},
		{"crowd", 1, []string{"crowd-25"}}, // the first numbers are all taken
		{"free", 3, nil},                   // available: nothing to suggest
	} {
		if got := suggest(c.value, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%d for %s: %v, want %v", c.n, c.value, got, c.want)
		}
	}
	if got := suggest("spring", 100); len(got) != 10 {
		t.Errorf("%d suggestions, want at most 10", len(got))
	}
	if got := suggest(long, 3); len(got) != 3 {
		t.Errorf("%d suggestions for the longest value", len(got))
	}
	for _, s := range suggest(long, 3) {
		if len(s) > 1024 || !strings.HasPrefix(s, "é") {
			t.Errorf("for the longest value: %d bytes", len(s))
		}
		f.Must(coretest.Reserve("slug", s, coretest.Token1)) // every suggestion is free
	}
}

// One part is enough, and so are no random words.
func TestSuggestionsFromLittle(t *testing.T) {
	t.Parallel()
	set, err := rules.NewPolicies(nil, dibs.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	job := set.Suggest("slug", []rules.Model{{Name: "taken", Refused: true}}, []string{"shop"}, 8, nil)
	var b rules.Batch
	requests := []*rules.Request{job.Request}
	b.Begin(requests)
	b.Load(dibs.LoadResult{Now: 1}, nil)
	b.Decide(requests)
	names, refused := job.Result()
	if refused != nil || len(names) != 1 || len(names[0]) != 8 || names[0][0] != "taken-shop" || names[0][1] != "taken-2" {
		t.Errorf("%v, %v", names, refused)
	}
}
