package routestore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/storetest"
)

// deleted is a group that writes a deleted entity, which is due at some time.
func deleted(scope, id string, due time.Time, rests uint64) dibs.Group {
	entity := dibs.Entity{Type: "user", ID: id}
	record := &dibs.EntityRecord{ID: dibs.EntityID(scope, entity), Rev: rests + 1, Scope: scope, Entity: entity, Deleted: true, Due: dibs.Instant(due.UnixMilli())}
	return dibs.Group{Reads: []dibs.Read{{Ref: record.Ref(), Rev: rests}}, Writes: []dibs.Write{{Record: record}}}
}

// Groups of several parts get each its own outcome, in any order, and what is due comes by date, whichever
// part has it.
func TestPartsTogether(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock(start)
	acme, rest := newMoody(clock), newMoody(clock)
	store := quickly(t, twoParts(acme, rest)...)
	defer end(t, store)
	at := func(seconds int) time.Time { return clock.Now().Add(time.Duration(seconds) * time.Second) }
	outcomes, err := store.Commit(t.Context(), []dibs.Group{
		deleted("acme", "a", at(4), 0), deleted("", "b", at(3), 7), deleted("", "c", at(1), 0), deleted("acme", "d", at(2), 7), deleted("acme", "e", at(2), 0),
		deleted("", "f", at(3), 0),
	})
	want := []dibs.Outcome{dibs.Committed, dibs.Stale, dibs.Committed, dibs.Stale, dibs.Committed, dibs.Committed}
	if err != nil || !slices.Equal(outcomes, want) {
		t.Errorf("%v, %v, want %v", outcomes, err, want)
	}
	clock.Advance(time.Minute)
	due, err := store.Due(t.Context(), 3)
	var ids []dibs.ID
	for _, ref := range due {
		ids = append(ids, ref.ID)
	}
	id := func(scope, id string) dibs.ID { return dibs.EntityID(scope, dibs.Entity{Type: "user", ID: id}) }
	if first := []dibs.ID{id("", "c"), id("acme", "e"), id("", "f")}; err != nil || !slices.Equal(ids, first) {
		t.Errorf("due are %v, %v, want %v", ids, err, first)
	}
}
