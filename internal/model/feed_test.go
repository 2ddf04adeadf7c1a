package model_test

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/model"
)

// feedReader follows a registry's feed and folds the events of every name.
type feedReader struct {
	cursor   dibs.Cursor
	count    int
	folded   map[string]dibs.Snapshot
	rev      map[string]uint64
	epoch    map[string]uint64
	versions map[string]uint64
	keys     map[string]string // the last key of each row
}

func newFeedReader() *feedReader {
	return &feedReader{
		folded: make(map[string]dibs.Snapshot), rev: make(map[string]uint64),
		epoch: make(map[string]uint64), versions: make(map[string]uint64), keys: make(map[string]string),
	}
}

// read reads new events, and checks what holds for every feed: revisions increase,
// epochs and versions never decrease, and each event begins where the one before it
// ended.
func (f *feedReader) read(w *world, registry *dibs.Registry) (news []dibs.Event) {
	for {
		page, err := registry.Events(context.Background(), dibs.FeedQuery{After: f.cursor, Limit: 1000})
		if err != nil {
			w.t.Fatalf("events: %v", err)
		}
		for i := range page.Events {
			f.take(w, &page.Events[i])
		}
		news = append(news, page.Events...)
		f.cursor = page.Next
		if len(page.Events) == 0 {
			f.count += len(news)
			return news
		}
	}
}

func (f *feedReader) take(w *world, e *dibs.Event) {
	owner := e.Scope + "/" + e.Entity.Type + "/" + e.Entity.ID
	if e.Version != 0 {
		if e.Version < f.versions[owner] {
			w.t.Fatalf("the version of %s went back from %d to %d, at %s of %s", owner, f.versions[owner], e.Version, e.Kind, e.Key())
		}
		f.versions[owner] = e.Version
	}
	if e.ID.IsZero() {
		return
	}
	key, row := textOf(e.ID, e.Key(), e.Canonical), e.ID.String()
	if e.Rev <= f.rev[row] {
		w.t.Fatalf("the revision of %s went from %d to %d, at %s", key, f.rev[row], e.Rev, e.Kind)
	}
	if e.Epoch < f.epoch[row] || e.Epoch != e.After.Epoch {
		w.t.Fatalf("the epoch of %s went from %d to %d, at %s, which ends in %+v", key, f.epoch[row], e.Epoch, e.Kind, e.After)
	}
	if e.Kind == dibs.EventForgotten {
		f.startOver(e)
	}
	last, ok := f.folded[key]
	if !ok {
		last.State = dibs.Free
	}
	if e.Before != last {
		w.t.Fatalf("%s of %s begins with %+v, the event before it ended with %+v", e.Kind, key, e.Before, last)
	}
	if int64(e.At) > w.now {
		w.t.Fatalf("%s of %s is dated %s, it is %s", e.Kind, key, w.since(int64(e.At)), w.since(w.now))
	}
	f.rev[row], f.epoch[row], f.folded[key], f.keys[row] = e.Rev, e.Epoch, e.After, key
}

// textOf is the label of a name: its row ID if the name is erased.
func textOf(id dibs.ID, key, canonical string) string {
	if canonical == "" {
		return id.String()
	}
	return key
}

// startOver drops the events of a name before its erasure, or that of an entity in it.
func (f *feedReader) startOver(e *dibs.Event) {
	delete(f.folded, f.keys[e.ID.String()])
	f.folded[textOf(e.ID, e.Key(), e.Canonical)] = e.Before
}

// forget is for a purged name: its next event begins without a state, but its revision
// and its epoch do not decrease.
func (f *feedReader) forget(key model.Key) {
	for told := range f.folded {
		if plainKey(told) == key.Namespace+":"+key.Canonical || told == id(key).String() {
			delete(f.folded, told)
		}
	}
	for hash, value := range hashes() { // of an erased name that was blind
		if namespace, canonical, _ := strings.Cut(hash, ":"); namespace == key.Namespace && value == key.Canonical {
			delete(f.folded, dibs.NameID(namespace, canonical).String())
		}
	}
}

// checkFold checks that the feed agrees with the registry, after a complete sweep.
func (w *world) checkFold(s *side) {
	for _, namespace := range namespaces {
		for _, value := range values {
			n, err := s.registry.Get(context.Background(), dibs.Lookup{Namespace: namespace, Value: value})
			if err != nil {
				continue
			}
			folded := s.feed.folded[textOf(n.ID, n.Key(), n.Canonical)]
			// A free name shows its last owner, although it has no owner: compare the entity only in
			// states that have one.
			told := fmt.Sprintf("%s %s, epoch %d, of %q", folded.State, folded.Status, folded.Epoch, folded.Entity.ID)
			is := fmt.Sprintf("%s %s, epoch %d, of %q", n.State, n.Status, n.Epoch, n.Entity.ID)
			if n.State == dibs.Free {
				told = fmt.Sprintf("%s %s, epoch %d", folded.State, folded.Status, folded.Epoch)
				is = fmt.Sprintf("%s %s, epoch %d", n.State, n.Status, n.Epoch)
			}
			if told != is {
				w.t.Fatalf("the feed says of %s: %s; the registry: %s", n.Key(), told, is)
			}
		}
	}
}

// reread reads the feed again from its beginning, and every name's history alone: both
// must lead to the same states as the first reading.
func (w *world) reread(s *side) {
	again := newFeedReader()
	again.read(w, s.registry)
	if !maps.Equal(again.folded, s.feed.folded) {
		w.t.Fatalf("the feed said %+v; read from its beginning it says %+v", s.feed.folded, again.folded)
	}
	for _, namespace := range namespaces {
		if namespace == w.changing {
			continue // its history may consist of several rows
		}
		for _, value := range takeable {
			events, err := s.registry.History(context.Background(), namespace, value)
			if err != nil {
				w.t.Fatalf("history: %v", err)
			}
			alone := newFeedReader()
			for i := range events {
				alone.take(w, &events[i])
			}
			n, err := s.registry.Get(context.Background(), dibs.Lookup{Namespace: namespace, Value: value})
			if err != nil {
				continue // it was never taken, or is purged
			}
			text := textOf(n.ID, n.Key(), n.Canonical)
			if alone.folded[text] != again.folded[text] {
				w.t.Fatalf("the history of %s ends with %+v, its part of the feed with %+v", text, alone.folded[text], again.folded[text])
			}
		}
	}
}
