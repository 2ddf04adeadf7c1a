package pgstore_test

import (
	"errors"
	"testing"

	"github.com/calldibs/dibs"
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
