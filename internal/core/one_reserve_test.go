package core_test

import (
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/memstore"
)

// One Reserve, alone. The table of functions in docs/architecture.md is checked by what it runs.
func TestOneReserve(t *testing.T) {
	reg, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{Policies: map[string]dibs.Policy{"slug": {MaxHolds: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "spring"}); err != nil {
		t.Error(err)
	}
	if err := reg.Close(); err != nil {
		t.Error(err)
	}
}
