package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// RunFence runs the cases of [record.Fencer], for engines that have it.
func RunFence(t *testing.T, harness Harness) {
	t.Helper()
	for _, c := range []testCase{
		{"fence", "no commit of any kind, by any handle", fenceCommits},
		{"fence", "among writers", fenceAmongWriters},
		{"fence", "after a restart", fenceStays},
	} {
		t.Run(c.musts+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			c.prove(t, harness)
		})
	}
}

func (e *env) fence(place string) {
	e.Helper()
	if err := e.store.(record.Fencer).Fence(e.Context(), place); err != nil {
		e.Fatalf("Fence: %v", err)
	}
}

func (e *env) unfence() {
	e.Helper()
	if err := e.store.(record.Fencer).Unfence(e.Context()); err != nil {
		e.Fatalf("Unfence: %v", err)
	}
}

// movedTo returns nil if an error says that the registry has moved to a place.
func movedTo(err error, place string) error {
	var refused *dibs.Error
	if !errors.As(err, &refused) || refused.Code != dibs.CodeUnavailable || refused.Cause != record.Moved(place).Cause ||
		!strings.Contains(refused.Message, place) {
		return fmt.Errorf("Commit behind a fence: %w, want that the registry has moved to %s", err, place)
	}
	return nil
}

func fenceCommits(e *env) {
	handles := e.handles()
	n, r, d := name("slug", "a", dibs.Active), entity("", dibs.Entity{Type: "user", ID: "1"}), document(dibs.KindTally, "d")
	first := create(n, r, d)
	first.Events = []dibs.Event{happened(dibs.EventClaimed, n)}
	e.commit(first)
	for i, store := range handles { // each has its connections, and remembers what it prepared
		if err := mustCommit(e.Context(), store, create(document(dibs.KindTally, fmt.Sprint("handle ", i)))); err != nil {
			e.Fatalf("%v", err)
		}
	}
	changed, told := next(n, nil), name("slug", "b", dibs.Held)
	withEvent := create(told)
	withEvent.Events = []dibs.Event{happened(dibs.EventReserved, told)}
	groups := map[string]dibs.Group{
		"a new name": withEvent, "a change": update(n, changed), "a deletion": remove(n),
		"an entity":  create(entity("", dibs.Entity{Type: "user", ID: "2"})),
		"a document": create(document(dibs.KindTally, "e")), "the deletion of a document": remove(d),
	}
	for _, place := range []string{"https://names.example.com", "it's \"elsewhere\""} {
		e.fence(place)
		for what, group := range groups {
			for _, store := range handles {
				_, err := store.Commit(e.Context(), []dibs.Group{group})
				if err := movedTo(err, place); err != nil {
					e.Fatalf("%s: %v", what, err)
				}
			}
		}
	}
	e.has(n, r, d)
	e.lacks(told)
	e.unfence()
	for what, group := range map[string]dibs.Group{"a new name": withEvent, "a change": update(n, changed), "a deletion": remove(d)} {
		if err := mustCommit(e.Context(), handles[len(handles)-1], group); err != nil {
			e.Fatalf("%s after the fence: %v", what, err)
		}
	}
	e.has(changed, told)
	e.unfence() // changes nothing
}

// fenceAmongWriters fences a store that several handles write to. What was acknowledged is there
// when Fence has returned, and nothing else comes.
func fenceAmongWriters(e *env) {
	const writers = 4
	handles := e.handles()
	var committed atomic.Int64
	acknowledged := make([][]*dibs.NameRecord, writers)
	fenced := make(chan struct{})
	e.together(writers+1, func(i int) error {
		if i == writers {
			for committed.Load() < 20 { // the writers are at it
				if e.Failed() {
					return nil
				}
			}
			defer close(fenced)
			return e.store.(record.Fencer).Fence(e.Context(), "elsewhere")
		}
		for round := 0; ; round++ {
			behind := false // the fence
			select {
			case <-fenced:
				behind = true
			default:
			}
			n := name("slug", fmt.Sprintf("w%d-%d", i, round), dibs.Held)
			group := create(n)
			group.Events = []dibs.Event{happened(dibs.EventReserved, n)}
			outcome, err := commitOne(e.Context(), handles[i%len(handles)], group)
			switch {
			case err != nil:
				<-fenced
				return movedTo(err, "elsewhere")
			case behind: // otherwise the writers of a store without a fence would never end
				return fmt.Errorf("a commit that began after Fence had returned is %v", outcome)
			case outcome == dibs.Committed:
				committed.Add(1)
				acknowledged[i] = append(acknowledged[i], n)
			}
		}
	})
	for i, names := range acknowledged {
		for _, n := range names {
			e.has(n)
		}
		e.lacks(name("slug", fmt.Sprintf("w%d-%d", i, len(names)), dibs.Held))
	}
	all, err := e.store.Events(e.Context(), dibs.EventQuery{Limit: 1 << 20})
	if err != nil || len(all) != int(committed.Load()) {
		e.Fatalf("the feed has %d events, %v; %d were acknowledged", len(all), err, committed.Load())
	}
}

func fenceStays(e *env) {
	if e.harness.Reopen == nil {
		e.Logf("not run: the engine has no disk")
		return
	}
	e.fence("elsewhere")
	if err := e.store.Close(); err != nil {
		e.Fatalf("Close: %v", err)
	}
	e.store = e.closing(e.harness.Reopen(e.TB, e.store, e.clock))
	_, err := e.store.Commit(e.Context(), []dibs.Group{create(name("slug", "a", dibs.Held))})
	if err := movedTo(err, "elsewhere"); err != nil {
		e.Fatalf("%v", err)
	}
}
