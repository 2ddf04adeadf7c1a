package core_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

func TestSuggestions(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {ReservedWords: dibs.WordList("spring-3")}})
	f.Must(coretest.Reserve("slug", "spring", coretest.Token1))
	f.Must(coretest.Reserve("slug", "spring-2", coretest.Token1))
	long := strings.Repeat("é", 512) // the longest value there is
	f.Must(coretest.Reserve("slug", long, coretest.Token1))
	for i := range 20 {
		f.Must(coretest.Reserve("slug", fmt.Sprint("crowd-", i+2), coretest.Token1))
	}
	f.Must(coretest.Reserve("slug", "crowd", coretest.Token1))

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
		{"spring", 0, nil},
		{"crowd", 1, []string{"crowd-25"}}, // the near ones are all taken
		{"free", 3, nil},                   // available: nothing to suggest
	} {
		if got := suggest(c.value, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%d for %s: %v, want %v", c.n, c.value, got, c.want)
		}
	}
	if got := suggest("spring", 100); len(got) != 10 {
		t.Errorf("%d suggestions, want 10 at the most", len(got))
	}
	for _, s := range suggest(long, 3) {
		if len(s) > 1024 || !strings.HasPrefix(s, "é") {
			t.Errorf("for the longest value: %d bytes", len(s))
		}
		f.Must(coretest.Reserve("slug", s, coretest.Token1)) // what is offered is accepted
	}
}

// Refusals of a list get their suggestions, too, each its own.
func TestSuggestionsOfAList(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Reserve("slug", "a", coretest.Token1), coretest.Reserve("email", "b", coretest.Token1))
	_, err := f.ReserveAll(f.Ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{
		{Namespace: "slug", Value: "a"}, {Namespace: "slug", Value: "free"}, {Namespace: "email", Value: "b"},
	}})
	e := f.CheckError(err, dibs.ErrNameTaken)
	if len(e.Failures) != 2 || e.Failures[0].Err.Suggestions[0] != "a-2" || e.Failures[1].Err.Suggestions[0] != "b-2" {
		t.Errorf("%+v", e)
	}
	quiet := coretest.MustOpen(t, f.Engine, dibs.Config{Suggestions: -1})
	_, err = quiet.Reserve(f.Ctx, dibs.Reserve{Namespace: "slug", Value: "a"})
	if e := f.CheckError(err, dibs.ErrNameTaken); len(e.Suggestions) != 0 {
		t.Errorf("none were asked for, but there are %v", e.Suggestions)
	}
}

// A listing shows what names are by now, swept or not, and pages lose none.
func TestListByState(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{
		"slug":    {AliasRetention: time.Minute, Quarantine: time.Hour},
		"watched": {Witness: coretest.AlwaysUnknown},
	})
	f.Must(coretest.Reserve("slug", "lapses", coretest.Token1), coretest.Reserve("watched", "lapses", coretest.Token1))
	f.Must(coretest.Claim("slug", "old", coretest.User1), coretest.Rename("slug", "new", coretest.User1))
	f.Must(coretest.Claim("slug", "gone", coretest.User2), coretest.Decommission("slug", "gone", coretest.User2))
	f.Clock.Advance(dibs.DefaultTTL)
	f.Must(coretest.Reserve("slug", "held", coretest.Token1))

	for state, want := range map[dibs.State]string{
		"":               "[slug:gone slug:held slug:new slug:old watched:lapses]",
		dibs.Held:        "[slug:held]",
		dibs.Suspect:     "[watched:lapses]",
		dibs.Active:      "[slug:new]",
		dibs.Alias:       "[]", // its retention is over …
		dibs.Quarantined: "[slug:gone slug:old]",
		dibs.Free:        "[slug:lapses]",
	} {
		for _, limit := range []int{0, 1, 2} {
			if got := f.ListNames(dibs.NamesQuery{State: state, Limit: limit}); got != want {
				t.Errorf("%s by %d: %s, want %s", state, limit, got, want)
			}
		}
	}
	f.SweepAll()
	if got := f.ListNames(dibs.NamesQuery{State: dibs.Quarantined}); got != "[slug:gone slug:old]" {
		t.Errorf("after a sweep: %s", got)
	}
}

func TestListByPrefix(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	for _, value := range []string{"a", "ab", "abc", "b", "é", "éa", "\U0010FFFF", "\U0010FFFFz", "\uD7FF", "\uE000"} {
		f.Must(coretest.Reserve("slug", value, coretest.Token1))
	}
	f.Must(coretest.Reserve("other", "ab", coretest.Token1))
	for prefix, want := range map[string]string{
		"ab":         "[slug:ab slug:abc]",
		"é":          "[slug:é slug:éa]",
		"\U0010FFFF": "[slug:\U0010FFFF slug:\U0010FFFFz]", // nothing comes behind it
		"\uD7FF":     "[slug:\uD7FF]",                      // what comes next is no code point
		"zz":         "[]",
	} {
		if got := f.ListNames(dibs.NamesQuery{Namespace: "slug", Prefix: prefix, Limit: 1}); got != want {
			t.Errorf("%q: %s, want %s", prefix, got, want)
		}
	}
	if got := f.ListNames(dibs.NamesQuery{Prefix: "ab"}); got != "[other:ab slug:ab slug:abc]" {
		t.Errorf("in all namespaces: %s", got)
	}
	if _, err := f.List(f.Ctx, dibs.NamesQuery{Prefix: "\xff"}); !errors.Is(err, dibs.ErrInvalidValue) {
		t.Errorf("a prefix that is no text: %v", err)
	}
}

func TestWhoHeldSeesWhatNobodySwept(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	start := f.Clock.Now()
	f.Must(dibs.Reserve{Namespace: "slug", Value: "x", Token: coretest.Token1, Entity: coretest.User1})
	f.Clock.Advance(dibs.DefaultTTL + time.Minute)
	for at, want := range map[time.Duration]dibs.State{
		-time.Millisecond:                  dibs.Free,
		0:                                  dibs.Held,
		dibs.DefaultTTL - time.Millisecond: dibs.Held,
		dibs.DefaultTTL:                    dibs.Free,
	} {
		holder, err := f.WhoHeld(f.Ctx, "slug", "x", start.Add(at))
		if err != nil || holder.State != want || (want == dibs.Held) != (holder.Entity == coretest.User1) {
			t.Errorf("after %v: %+v, %v; want %s", at, holder, err, want)
		}
	}
}

// meddling is a store in which something happens between two reads.
type meddling struct {
	dibs.Store
	between func()
}

func (m *meddling) happen() {
	if happens := m.between; happens != nil {
		m.between = nil
		happens()
	}
}

func (m *meddling) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	m.happen()
	return m.Store.Owned(ctx, scope, entity, limit)
}

func (m *meddling) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	events, err := m.Store.Events(ctx, query)
	m.happen()
	return events, err
}

// Readings that take two looks at the engine still tell of one moment.
func TestReadingsOfOneMoment(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	store := &meddling{Store: f.Engine}
	reg := coretest.MustOpen(t, store, dibs.Config{})
	f.Must(coretest.Claim("slug", "a", coretest.User1))
	store.between = func() { f.Must(coretest.Rename("slug", "b", coretest.User1)) }
	info, err := reg.Entity(f.Ctx, "", coretest.User1)
	if err != nil || info.Version != 2 || len(info.Names) != 2 {
		t.Errorf("version %d with %d names, %v", info.Version, len(info.Names), err)
	}

	f.Must(dibs.Reserve{Namespace: "slug", Value: "x", Token: coretest.Token1, Entity: coretest.User1})
	f.Clock.Advance(dibs.DefaultTTL + time.Minute)
	free := f.Clock.Now().Add(-time.Second)
	store.between = func() { f.Must(coretest.Reserve("slug", "x", coretest.Token2)) }
	holder, err := reg.WhoHeld(f.Ctx, "slug", "x", free)
	if err != nil || holder.State != dibs.Free {
		t.Errorf("when it was free: %+v, %v", holder, err)
	}
}
