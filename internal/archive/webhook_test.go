//go:build unix

package archive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/archive"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/memstore"
)

// position is what a webhook stores of its position, as far as it matters here.
type position struct {
	Cursor  dibs.Cursor `json:"cursor,omitempty"`
	Waiting []struct {
		After  dibs.Cursor `json:"after,omitempty"`
		Cursor dibs.Cursor `json:"cursor"`
	} `json:"waiting,omitempty"`
}

// putWebhooks stores webhooks that have got to some places of the feed: its beginning, an event, an event
// that is deleted later, the end, and a place that is not in the feed. Of two of them an event waits.
func putWebhooks(t *testing.T, store dibs.Store, feed []dibs.Event) map[string]position {
	t.Helper()
	latest, err := store.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hooks := map[string]position{
		"beginning": {}, "event": {Cursor: feed[40].Cursor}, "last": {Cursor: feed[len(feed)-1].Cursor},
		"end": {Cursor: latest}, "deleted": {Cursor: feed[deletedEvent(feed)].Cursor}, "lost": {Cursor: "nowhere"},
	}
	for _, name := range []string{"event", "end"} {
		hook := hooks[name]
		hook.Waiting = append(hook.Waiting, struct {
			After  dibs.Cursor `json:"after,omitempty"`
			Cursor dibs.Cursor `json:"cursor"`
		}{feed[19].Cursor, feed[20].Cursor})
		hooks[name] = hook
	}
	for name, hook := range hooks {
		data, _ := json.Marshal(hook)
		commit(t, store, &dibs.Document{Kind: "webhookstate", ID: dibs.NameID("hook", name), Rev: 1, Label: name, Data: data}, false)
	}
	return hooks
}

// deletedEvent returns the place of the event whose name is deleted: not one of the others in putWebhooks.
func deletedEvent(feed []dibs.Event) int {
	used := []dibs.ID{feed[19].ID, feed[20].ID, feed[40].ID, feed[len(feed)-1].ID}
	return slices.IndexFunc(feed, func(e dibs.Event) bool { return !e.ID.IsZero() && !slices.Contains(used, e.ID) })
}

// commit stores a new record, or deletes one.
func commit(t *testing.T, store dibs.Store, record dibs.Record, remove bool) {
	t.Helper()
	read, write := dibs.Read{Ref: record.Ref()}, dibs.Write{Record: record, Delete: remove}
	if remove {
		read.Rev = record.Revision()
		write.Was = record.(*dibs.NameRecord).State
	}
	outcomes, err := store.Commit(t.Context(), []dibs.Group{{Reads: []dibs.Read{read}, Writes: []dibs.Write{write}}})
	if err != nil || outcomes[0] != dibs.Committed {
		t.Fatalf("%v, %v", outcomes, err)
	}
}

// Webhooks go on behind the same events in another store, and one that was lost stays lost.
func TestWebhooksGoOn(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"memory", "sqlite"}, {"sqlite", "memory"}, {"sqlite", "sqlite"}, {"memory", "parts"}, {"parts", "memory"}} {
		t.Run(pair[0]+" "+pair[1], func(t *testing.T) {
			t.Parallel()
			source, target := engines[pair[0]](t), engines[pair[1]](t)
			live(t, registryOn(t, source), 7)
			feed := read(t, source, "")
			hooks := putWebhooks(t, source, feed)
			gone := feed[deletedEvent(feed)]
			found, err := source.Load(t.Context(), []dibs.Ref{{Kind: dibs.KindName, Scope: gone.Scope, ID: gone.ID}})
			if err != nil || len(found.Records) != 1 {
				t.Fatal(found, err)
			}
			commit(t, source, found.Records[0], true)
			if err := load(t.Context(), dump(t, source), target, archive.Options{}); err != nil {
				t.Fatal(err)
			}
			for name, hook := range hooks {
				checkHook(t, name, source, target, hook)
			}
		})
	}
}

// counted is a view that counts the events which are read.
type counted struct {
	snapshot.View
	events *int
}

func (c counted) Events(ctx context.Context, after dibs.Cursor) iter.Seq2[dibs.Event, error] {
	return func(yield func(dibs.Event, error) bool) {
		for e, err := range c.View.Events(ctx, after) {
			if *c.events++; !yield(e, err) {
				return
			}
		}
	}
}

// A dump reads the feed twice at most, however many dead letters there are of events that are gone.
func TestDumpWithDeadLetters(t *testing.T) {
	t.Parallel()
	const letters, names = 50, 200
	store := memstore.New(memstore.Config{})
	registry := registryOn(t, store)
	for i := range letters + names {
		value := fmt.Sprint("name-", i)
		name, err := registry.Claim(t.Context(), dibs.Claim{Namespace: "acme.slug", Value: value, Entity: dibs.Entity{Type: "user", ID: value}})
		if err != nil {
			t.Fatal(err)
		}
		if i >= letters {
			continue
		}
		latest, err := store.Latest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found, err := store.Load(t.Context(), []dibs.Ref{{Kind: dibs.KindName, Scope: "acme", ID: name.ID}})
		if err != nil {
			t.Fatal(err)
		}
		commit(t, store, found.Records[0], true)
		data, _ := json.Marshal(map[string]any{"cursor": latest})
		commit(t, store, &dibs.Document{Kind: "webhookletter", ID: dibs.NameID("letter", value), Rev: 1, Label: value, Data: data}, false)
	}
	view, err := snapshot.Take(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	read := 0
	counts, err := archive.Dump(t.Context(), counted{view, &read}, io.Discard, nil)
	if err != nil || counts.Events < names {
		t.Fatal(counts, err)
	}
	if most := 2*counts.Events + letters; read > most {
		t.Errorf("%d events were read, want at most %d", read, most)
	}
}

func checkHook(t *testing.T, name string, source, target dibs.Store, before position) {
	t.Helper()
	found, err := target.Load(t.Context(), []dibs.Ref{{Kind: "webhookstate", ID: dibs.NameID("hook", name)}})
	if err != nil || len(found.Records) != 1 {
		t.Fatal(found, err)
	}
	var after position
	if err := json.Unmarshal(found.Records[0].(*dibs.Document).Data, &after); err != nil {
		t.Fatal(err)
	}
	if name == "lost" {
		if _, err := target.Events(t.Context(), dibs.EventQuery{After: after.Cursor, Limit: 1}); !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("a webhook with a cursor that is not in the feed goes on from %q: %v", after.Cursor, err)
		}
		return
	}
	want, got := told(read(t, source, before.Cursor)), told(read(t, target, after.Cursor))
	if !slices.Equal(got, want) {
		t.Errorf("%s: behind %q there are %d events, behind %q there were %d", name, after.Cursor, len(got), before.Cursor, len(want))
	}
	for i := range before.Waiting {
		w, g := read(t, source, before.Waiting[i].After), read(t, target, after.Waiting[i].After)
		if told(w[:1])[0] != told(g[:1])[0] || g[0].Cursor != after.Waiting[i].Cursor {
			t.Errorf("%s: waits for %s, want %s", name, fmt.Sprint(g[0]), fmt.Sprint(w[0]))
		}
	}
}

// read returns the events behind a cursor.
func read(t *testing.T, store dibs.Store, after dibs.Cursor) []dibs.Event {
	t.Helper()
	events, err := store.Events(t.Context(), dibs.EventQuery{After: after, Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return events
}
