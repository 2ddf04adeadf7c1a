package coretest

import (
	"context"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

var Wedding = dibs.Entity{Type: "wedding", ID: "42"}

// OpenMem opens a registry on a fresh memstore by the machine's clock, which inside
// a synctest bubble is the bubble's.
func OpenMem(t *testing.T, cfg dibs.Config) *dibs.Registry {
	t.Helper()
	return MustOpen(t, memstore.New(memstore.Config{}), cfg)
}

func MustReserve(t *testing.T, reg *dibs.Registry, value string) dibs.Hold {
	t.Helper()
	hold, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: value})
	if err != nil {
		t.Fatalf("Reserve %s: %v", value, err)
	}
	return hold
}

func StateOf(t *testing.T, reg *dibs.Registry, value string) dibs.State {
	t.Helper()
	name, err := reg.Get(context.WithoutCancel(t.Context()), dibs.Lookup{Namespace: "slug", Value: value})
	if err != nil {
		t.Fatalf("Get %s: %v", value, err)
	}
	return name.State
}

const Minute = time.Minute
