package routestore_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/routestore"
	"github.com/calldibs/dibs/storetest"
)

// claims claims a name in each namespace, a second apart.
func claims(t *testing.T, registry *dibs.Registry, clock *storetest.Clock, value string, namespaces ...string) {
	t.Helper()
	for _, namespace := range namespaces {
		clock.Advance(time.Second)
		entity := dibs.Entity{Type: "user", ID: namespace + value}
		if _, err := registry.Claim(t.Context(), dibs.Claim{Namespace: namespace, Value: value, Entity: entity}); err != nil {
			t.Fatal(err)
		}
	}
}

func keys(events []dibs.Event) []string {
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = e.Key()
	}
	return list
}

func same(t *testing.T, what string, got []dibs.Event, want ...string) {
	t.Helper()
	list := keys(got)
	if len(list) != len(want) {
		t.Fatalf("%s: %v, want %v", what, list, want)
	}
	for i := range want {
		if list[i] != want[i] {
			t.Fatalf("%s: %v, want %v", what, list, want)
		}
	}
}

// The feed has the events of all parts by date, and resumes from each of its cursors, also in
// another process and with another part.
func TestFeed(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock(start)
	acme, rest, globex := newMoody(clock), newMoody(clock), newMoody(clock)

	// Before there were routes.
	plain := registryOn(t, rest)
	claims(t, plain, clock, "0", "slug", "email")
	old := allEvents(t, plain, "")
	if err := plain.Close(); err != nil {
		t.Fatal(err)
	}

	first := registryOn(t, quickly(t, twoParts(acme, rest)...))
	claims(t, first, clock, "1", "acme.slug", "slug", "acme.eu.slug", "slug2")
	want := []string{"slug:0", "email:0", "acme.slug:1", "slug:1", "acme.eu.slug:1", "slug2:1"}
	events := allEvents(t, first, "")
	same(t, "the feed", events, want...)
	for i, e := range events {
		same(t, "behind "+want[i], allEvents(t, first, e.Cursor), want[i+1:]...)
		if url.QueryEscape(string(e.Cursor)) != string(e.Cursor) {
			t.Errorf("the cursor %q needs escaping in a URL", e.Cursor)
		}
	}
	same(t, "behind a cursor from before", allEvents(t, first, old[0].Cursor), want[1:]...)
	history, err := first.History(t.Context(), "acme.slug", "1")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "behind an event of a history", allEvents(t, first, history[0].Cursor), "slug:0", "email:0", "slug:1", "acme.eu.slug:1", "slug2:1")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	routes := append(twoParts(acme, rest), routestore.Route{Name: "globex", Scopes: []string{"globex"}, Store: globex})
	second := registryOn(t, quickly(t, routes...))
	defer end(t, second)
	end, err := second.Events(t.Context(), dibs.FeedQuery{After: dibs.Latest})
	if err != nil || len(end.Events) != 0 {
		t.Fatalf("the end of the feed: %v, %v", end.Events, err)
	}
	claims(t, second, clock, "2", "globex.slug", "slug")
	same(t, "behind the end", allEvents(t, second, end.Next), "globex.slug:2", "slug:2")
	same(t, "with a part more", allEvents(t, second, events[3].Cursor), "acme.eu.slug:1", "slug2:1", "globex.slug:2", "slug:2")
	same(t, "of one namespace", page(t, second, dibs.FeedQuery{Namespace: "globex.slug"}), "globex.slug:2")
	for _, cursor := range []dibs.Cursor{"~", "~~", "~rest", "~rest.", "~nobody.1", "~rest.2~acme.1", "~rest.1~rest.1", "~rest.%31", "~rest.999", "999", "x"} {
		if _, err := second.Events(t.Context(), dibs.FeedQuery{After: cursor}); !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("behind %q: %v, want ErrBadCursor", cursor, err)
		}
	}
}

func page(t *testing.T, registry *dibs.Registry, query dibs.FeedQuery) []dibs.Event {
	t.Helper()
	page, err := registry.Events(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	return page.Events
}

// A watch gets the events of all parts.
func TestWatch(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock(start)
	registry, _ := threeParts(t, clock)
	defer end(t, registry)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	watched := make(chan dibs.Event)
	go func() {
		for e, err := range registry.Watch(ctx, dibs.FeedQuery{}) {
			if err != nil {
				return
			}
			watched <- e
		}
	}()
	for _, namespace := range []string{"acme.slug", "slug", "globex.eu.slug"} {
		claims(t, registry, clock, "a", namespace)
		select {
		case e := <-watched:
			same(t, "watched", []dibs.Event{e}, namespace+":a")
		case <-ctx.Done():
			t.Fatalf("no event of %s", namespace)
		}
	}
}
