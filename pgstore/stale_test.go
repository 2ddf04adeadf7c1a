package pgstore_test

import (
	"errors"
	"testing"

	"github.com/calldibs/dibs"
)

// A process that remembers one name of an entity from before another process renamed the entity, and
// the entity from after it, decides on records of two moments: to rename is then to give the entity
// a second active name. The index on active names notices that first. It is a race that was lost, no fault.
func TestRenameOnOldMemories(t *testing.T) {
	t.Parallel()
	at := ownSchema(t)
	ann, bob := registry(t, at, dibs.Config{Logger: complaints(t)}), registry(t, at, dibs.Config{Logger: complaints(t)})
	who := user("1")
	rename := func(reg *dibs.Registry, value string) dibs.Name {
		t.Helper()
		return must[dibs.Name](t)(reg.Rename(t.Context(), dibs.Rename{Namespace: "slug", Value: value, Entity: who}))
	}
	for _, value := range []string{"spring", "summer", "autumn"} {
		rename(ann, value)
	}
	rename(bob, "spring") // which is an alias, as ann remembers it
	// A refusal loads the entity, and not the name that it has.
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
