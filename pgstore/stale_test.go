package pgstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

// A process has cached a name of an entity from before, and the entity from after a rename by another
// process. Its rename would give the entity a second active name. The unique index detects that first:
// the group is stale, not invalid.
func TestRenameOnRecordsOfTwoMoments(t *testing.T) {
	t.Parallel()
	at := ownSchema(t)
	ann, bob := registry(t, at, dibs.Config{Logger: failingLogger(t)}), registry(t, at, dibs.Config{Logger: failingLogger(t)})
	who := user("1")
	rename := func(reg *dibs.Registry, value string) dibs.Name {
		t.Helper()
		return must[dibs.Name](t)(reg.Rename(t.Context(), dibs.Rename{Namespace: "slug", Value: value, Entity: who}))
	}
	for _, value := range []string{"spring", "summer", "autumn"} {
		rename(ann, value)
	}
	rename(bob, "spring") // which is an alias in the cache of ann
	// A refusal loads the entity, and not its name.
	wrong := dibs.Rename{Namespace: "slug", Value: "winter", Entity: who, IfVersion: 1}
	if _, err := ann.Rename(t.Context(), wrong); !errors.Is(err, dibs.ErrVersionMismatch) {
		t.Fatalf("a rename at an old version: %v", err)
	}
	if name := rename(ann, "summer"); name.State != dibs.Active || name.Version != 5 {
		t.Errorf("the new name is %s, and the entity at version %d; want active, 5", name.State, name.Version)
	}
	if name := must[dibs.Name](t)(bob.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "spring"})); name.State != dibs.Alias {
		t.Errorf("the old name is %s, want alias", name.State)
	}
}

// A batch of which a part comes too late, or all of it, takes no more exchanges than the server needs to say
// so: one that fails, one that reads the time, and one for the groups that are in time.
func TestLateGroups(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{LockWait: 10 * time.Second})
	now := dibs.Instant(ask[int64](r, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"))
	for _, late := range []int{1, 32, 64} {
		groups := make([]dibs.Group, 64)
		for i := range groups {
			id := fmt.Sprintf("late-%d-%d", late, i)
			n := ownedName(id, user(id))
			groups[i] = group(inserting(n), inserting(entityRecord(user(id))), event(dibs.EventClaimed, n))
			groups[i].Window.Before = now.Add(time.Hour)
			if i%(len(groups)/late) == 0 {
				groups[i].Window.Before = now.Add(-time.Second)
			}
		}
		exchanges := counting(everything, nil)
		r.proxy.SetHook(exchanges.hook)
		outcomes, err := r.store.Commit(t.Context(), groups)
		r.proxy.SetHook(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, outcome := range outcomes {
			if isLate := i%(len(groups)/late) == 0; isLate != (outcome == dibs.Stale) || isLate == (outcome == dibs.Committed) {
				t.Errorf("%d of %d groups are late: group %d is %v", late, len(groups), i, outcome)
			}
		}
		if n := exchanges.count(); n > 20 { // the store numbers its feed, too
			t.Errorf("%d of %d groups are late: %d exchanges", late, len(groups), n)
		}
	}
}
