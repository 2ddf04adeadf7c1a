package coretest

import (
	"context"
	"errors"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// OpenMem opens a registry on a new memstore that uses the machine's clock. Inside a synctest
// bubble that is the clock of the bubble.
func OpenMem(t *testing.T, cfg dibs.Config) *dibs.Registry {
	t.Helper()
	return MustOpen(t, memstore.New(memstore.Config{}), cfg)
}

// MustReserve reserves a name in the namespace slug.
func MustReserve(t *testing.T, reg *dibs.Registry, value string) dibs.Hold {
	t.Helper()
	hold, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: value})
	if err != nil {
		t.Fatalf("Reserve %s: %v", value, err)
	}
	return hold
}

// StateOf returns the state of a slug; free where it has no row.
func StateOf(tb testing.TB, reg *dibs.Registry, value string) dibs.State {
	tb.Helper()
	name, err := reg.Get(context.WithoutCancel(tb.Context()), dibs.Lookup{Namespace: "slug", Value: value})
	if errors.Is(err, dibs.ErrNotFound) {
		return dibs.Free
	}
	if err != nil {
		tb.Fatalf("Get %s: %v", value, err)
	}
	return name.State
}
