package memstore_test

import (
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/nametest"
	"github.com/calldibs/dibs/memstore"
)

// namesPlace is one store for several registries.
func namesPlace(testing.TB) *nametest.Place {
	store := memstore.New(memstore.Config{})
	return &nametest.Place{Open: func(tb testing.TB, cfg dibs.Config) *dibs.Registry {
		tb.Helper()
		reg, err := dibs.Open(store, cfg)
		if err != nil {
			tb.Fatal(err)
		}
		return reg
	}}
}

func TestLookAlikes(t *testing.T) {
	t.Parallel()
	nametest.LookAlikes(t, namesPlace)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	nametest.Keys(t, namesPlace)
}
