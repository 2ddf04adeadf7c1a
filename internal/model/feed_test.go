package model_test

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/model"
)

// feedReader follows a registry's feed and folds what it says of every name.
type feedReader struct {
	cursor   dibs.Cursor
	count    int
	folded   map[string]dibs.Snapshot
	rev      map[string]uint64
	epoch    map[string]uint64
	versions map[string]uint64
	keys     map[string]string // what each row was last called
}

func newFeedReader() *feedReader {
	return &feedReader{
		folded: make(map[string]dibs.Snapshot), rev: make(map[string]uint64),
		epoch: make(map[string]uint64), versions: make(map[string]uint64), keys: make(map[string]string),
	}
}

// read takes in what is new, and checks what must hold of every feed: revisions
// rise, epochs and versions never fall, and each event begins where the one before
// it ended.
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

// textOf is what a name is called here: by its row if nobody knows what it is.
func textOf(id dibs.ID, key, canonical string) string {
	if canonical == "" {
		return id.String()
	}
	return key
}

// startOver drops all that was told of a name before it was forgotten, or somebody in it.
func (f *feedReader) startOver(e *dibs.Event) {
	delete(f.folded, f.keys[e.ID.String()])
	f.folded[textOf(e.ID, e.Key(), e.Canonical)] = e.Before
}

// forget is for a name that was purged: its next event begins with nothing, but
// neither its revision nor its epoch goes back.
func (f *feedReader) forget(key model.Key) {
	for told := range f.folded {
		if plainKey(told) == key.Namespace+":"+key.Canonical || told == id(key).String() {
			delete(f.folded, told)
		}
	}
	for hash, value := range hashes() { // of a forgotten name that was hidden
		if namespace, canonical, _ := strings.Cut(hash, ":"); namespace == key.Namespace && value == key.Canonical {
			delete(f.folded, dibs.NameID(namespace, canonical).String())
		}
	}
}

// checkFold checks that the feed tells the same as the registry itself, once
// everything that is over was swept.
func (w *world) checkFold(s *side) {
	for _, namespace := range namespaces {
		for _, value := range values {
			n, err := s.registry.Get(context.Background(), dibs.Lookup{Namespace: namespace, Value: value})
			if err != nil {
				continue
			}
			folded := s.feed.folded[textOf(n.ID, n.Key(), n.Canonical)]
			// A free name tells who had it last, but nobody owns it: only states
			// that mean an entity are compared with it.
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

// reread follows the feed a second time, from its beginning, and every name's history
// by itself: both must lead to where the first reading led.
func (w *world) reread(s *side) {
	again := newFeedReader()
	again.read(w, s.registry)
	if !maps.Equal(again.folded, s.feed.folded) {
		w.t.Fatalf("the feed said %+v; read from its beginning it says %+v", s.feed.folded, again.folded)
	}
	for _, namespace := range namespaces {
		if namespace == w.changing {
			continue // a history there may be that of several rows
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
