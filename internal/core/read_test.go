package core_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A listing shows the states by the current time, with or without a sweep, and its pages lose no name.
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
		dibs.Alias:       "[]", // its retention is over: it is quarantined
		dibs.Quarantined: "[slug:gone slug:old]",
		dibs.Free:        "[slug:lapses]",
	} {
		for _, limit := range []int{0, 1, 2} {
			if got := listNames(f, dibs.NamesQuery{State: state, Limit: limit}); got != want {
				t.Errorf("%s by %d: %s, want %s", state, limit, got, want)
			}
		}
	}
	f.SweepAll()
	if got := listNames(f, dibs.NamesQuery{State: dibs.Quarantined}); got != "[slug:gone slug:old]" {
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
		"\U0010FFFF": "[slug:\U0010FFFF slug:\U0010FFFFz]", // the last code point
		"\uD7FF":     "[slug:\uD7FF]",                      // the next value is not a code point
		"zz":         "[]",
	} {
		if got := listNames(f, dibs.NamesQuery{Namespace: "slug", Prefix: prefix, Limit: 1}); got != want {
			t.Errorf("%q: %s, want %s", prefix, got, want)
		}
	}
	if got := listNames(f, dibs.NamesQuery{Prefix: "ab"}); got != "[other:ab slug:ab slug:abc]" {
		t.Errorf("in all namespaces: %s", got)
	}
	if _, err := f.List(f.Ctx, dibs.NamesQuery{Prefix: "\xff"}); !errors.Is(err, dibs.ErrInvalidValue) {
		t.Errorf("a prefix that is not UTF-8: %v", err)
	}
}

// meddling is a store that calls between after a read, once.
type meddling struct {
	dibs.Store
	between func()
}

func (m *meddling) callBetween() {
	if between := m.between; between != nil {
		m.between = nil
		between()
	}
}

func (m *meddling) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	m.callBetween()
	return m.Store.Owned(ctx, scope, entity, limit)
}

func (m *meddling) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	events, err := m.Store.Events(ctx, query)
	m.callBetween()
	return events, err
}

// Reads that take two calls of the engine still return a consistent answer.
func TestReadsAreConsistent(t *testing.T) {
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

// listNames returns the keys of all pages of a listing.
func listNames(f *coretest.Fixture, query dibs.NamesQuery) string {
	f.T.Helper()
	keys := []string{}
	for {
		page, err := f.List(f.Ctx, query)
		if err != nil {
			f.T.Fatal(err)
		}
		for _, n := range page.Names {
			keys = append(keys, n.Key())
		}
		if page.Next == "" {
			return fmt.Sprint(keys)
		}
		query.Cursor = page.Next
	}
}

// hyphens is a profile that ignores hyphens.
type hyphens struct{}

func (hyphens) Name() string { return "hyphens/1" }

func (hyphens) Canonical(value string) (string, error) {
	var canonical []byte
	for _, b := range []byte(value) {
		if b != '-' {
			canonical = append(canonical, b)
		}
	}
	return string(canonical), nil
}

// The values in the events of a former row decide, epoch by epoch, which name the history belongs to,
// even if the deciding value is on another page than the rest of the epoch.
func TestHistoryOfAFormerRow(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: hyphens{}}})
	f.Must(coretest.Claim("slug", "ab", coretest.Alice)) // under the new rules the first epoch is another name
	for range 3 {
		f.Must(coretest.Rename("slug", "a-b", coretest.Alice))
		f.Must(coretest.Rename("slug", "ab", coretest.Alice))
	}
	f.Must(coretest.Decommission("slug", "ab", coretest.Alice))
	f.Must(coretest.Claim("slug", "ab", coretest.User2)) // the second epoch ends as "a--b"
	f.Clock.Advance(time.Second)
	for _, spelling := range []string{"a-b", "ab", "a-b", "ab", "-ab", "a--b"} {
		f.Must(coretest.Rename("slug", spelling, coretest.User2))
	}
	f.Clock.Advance(time.Second)
	g := f.Reopened(map[string]dibs.Policy{"slug": {}})
	if _, err := g.Recanonicalize(g.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug"}); err != nil {
		t.Fatal(err)
	}
	f.Clock.Advance(time.Second)
	g.Must(coretest.Decommission("slug", "a--b", coretest.User2))

	history := g.HistoryOf("slug", "a--b")
	if len(history) != 1+6+2+1 {
		t.Errorf("%d events: %+v", len(history), history)
	}
	for _, e := range history {
		if e.Entity != coretest.User2 {
			t.Errorf("an event of another name: %+v", e)
		}
	}
	for seconds, want := range []dibs.State{dibs.Active, dibs.Active, dibs.Active, dibs.Free} {
		at := coretest.NewClock().Now().Add(time.Duration(seconds) * time.Second)
		holder, err := g.WhoHeld(g.Ctx, "slug", "a--b", at)
		if err != nil || holder.State != want || want == dibs.Active && (holder.Entity != coretest.User2 || !holder.Since.Equal(coretest.NewClock().Now())) {
			t.Errorf("after %d s: %+v, %v; want %s", seconds, holder, err, want)
		}
	}
}

func TestHistoryCursors(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}}})
	f.Must(coretest.Claim("slug", "ours", coretest.Alice), coretest.Claim("slug", "theirs", coretest.User2))
	for range 5 {
		f.Must(coretest.Rename("slug", "OURS", coretest.Alice), coretest.Rename("slug", "THEIRS", coretest.User2))
		f.Must(coretest.Rename("slug", "ours", coretest.Alice), coretest.Rename("slug", "theirs", coretest.User2))
	}
	theirs, err := f.HistoryPage(f.Ctx, dibs.HistoryQuery{Namespace: "slug", Value: "theirs", Limit: 2})
	if err != nil || theirs.Next == "" {
		t.Fatalf("%+v, %v", theirs, err)
	}
	// A cursor of another name shows nothing of that name.
	if page, err := f.HistoryPage(f.Ctx, dibs.HistoryQuery{Namespace: "slug", Value: "ours", Cursor: theirs.Next}); err != nil || len(page.Events) != 0 {
		t.Errorf("with a cursor of another name: %+v, %v", page, err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	ours := f.NameOf("slug", "ours").ID.String()
	for _, cursor := range []string{
		"nonsense", "!", encode([]byte("nonsense")), encode([]byte("[]")), encode([]byte(`{"res_x":{"a":"1"}}`)),
		encode(fmt.Appendf(nil, `{%q:{"a":"nowhere"}}`, ours)), encode(fmt.Appendf(nil, `{%q:{"a":"99999"}}`, ours)),
	} {
		if page, err := f.HistoryPage(f.Ctx, dibs.HistoryQuery{Namespace: "slug", Value: "ours", Cursor: cursor}); !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("with the cursor %q: %+v, %v", cursor, page, err)
		}
	}
}

// A history has all events of a name, from all rows that it was in, each once.
func TestHistoryOverManyRules(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "ALICe", coretest.User1), coretest.Rename("slug", "Alice", coretest.User1), coretest.Rename("slug", "aLICE", coretest.User1))
	for _, profile := range []dibs.Profile{coretest.Lower{}, coretest.Upper{}, coretest.Lower{}, coretest.Upper{}} {
		f.Clock.Advance(time.Second)
		g := f.Reopened(map[string]dibs.Policy{"slug": {Profile: profile, HoldHistory: time.Hour}})
		g.MustRecanonicalize(false)
		history, err := g.History(g.Ctx, "slug", "alice")
		if err != nil {
			t.Fatal(err)
		}
		if all := f.AllEvents(); len(history) != len(all) {
			t.Errorf("%d events under %s, want all %d", len(history), profile.Name(), len(all))
		}
	}
}

// WhoHeld returns the same, however often the rules have changed since.
func TestWhoHeldAfterRulesChangedBack(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	from := f.Clock.Now()
	g := f.Reopened(coretest.FoldedSlugs())
	for _, registry := range []*coretest.Fixture{g, f, g, f} {
		f.Clock.Advance(time.Second)
		registry.MustRecanonicalize(false)
	}
	for at := from; at.Before(f.Clock.Now()); at = at.Add(500 * time.Millisecond) {
		if holder, err := f.WhoHeld(f.Ctx, "slug", "Alice", at); err != nil || holder.Entity != coretest.User1 {
			t.Errorf("at %s: %+v, %v", at, holder, err)
		}
	}
}

// After the rules were changed and changed back, the history of a name has no events of the entity
// that has the other name now.
func TestHistoryAfterRulesChangedBack(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Reserve("slug", "alice", coretest.Token1), dibs.Release{ID: dibs.NameID("slug", "alice"), Token: coretest.Token1})
	f.Clock.Advance(time.Second)
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	for _, rules := range []map[string]dibs.Policy{coretest.FoldedSlugs(), coretest.ExactSlugs()} {
		f.Clock.Advance(time.Second)
		f.Reopened(rules).MustRecanonicalize(false)
	}
	f.Clock.Advance(time.Second)
	f.Must(coretest.Claim("slug", "alice", coretest.User2))
	for second := range 5 {
		at := f.Clock.Now().Add(-time.Duration(second) * time.Second)
		holder, err := f.WhoHeld(f.Ctx, "slug", "Alice", at)
		if err != nil || (second < 3 && holder.Entity != coretest.User1) || holder.Entity == coretest.User2 {
			t.Errorf("%d s ago: %+v, %v", second, holder, err)
		}
	}
	h := f.Reopened(map[string]dibs.Policy{"slug": {Profile: exactAgain{}}})
	if r, err := h.Resolve(f.Ctx, "slug", "alice"); err != nil || r.Entity != coretest.User2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// exactAgain is Exact under another name.
type exactAgain struct{}

func (exactAgain) Name() string { return "exact/2" }

func (exactAgain) Canonical(value string) (string, error) { return value, nil }

func TestWhoHeldNeedsNoSweep(t *testing.T) {
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
