package core_test

import (
	"context"
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
		"\uD7FF":     "[slug:\uD7FF]",                      // the next value is no code point
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
