package memstore_test

import (
	"encoding/json"
	"testing"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/nametest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/storetest"
)

// namesPlace is one store for several registries.
func namesPlace(testing.TB) *nametest.Harness {
	store := memstore.New(memstore.Config{})
	return &nametest.Harness{Open: func(tb testing.TB, cfg dibs.Config) *dibs.Registry {
		tb.Helper()
		reg, err := core.Open(store, cfg)
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

func TestForget(t *testing.T) {
	t.Parallel()
	nametest.Forget(t, func(_ testing.TB, clock *storetest.Clock) *nametest.Harness {
		store := memstore.New(memstore.Config{Now: clock.Now})
		return &nametest.Harness{
			Open: func(tb testing.TB, cfg dibs.Config) *dibs.Registry {
				tb.Helper()
				reg, err := core.Open(store, cfg)
				if err != nil {
					tb.Fatal(err)
				}
				return reg
			},
			Dump: func(tb testing.TB) []byte { return dump(tb, store) },
		}
	})
}

// dump returns everything that can be listed.
func dump(tb testing.TB, store *memstore.Store) []byte {
	tb.Helper()
	var all []any
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindNamespace, dibs.KindQuota, dibs.KindTally, dibs.KindSkeleton, dibs.KindHash} {
		records, err := store.List(tb.Context(), dibs.ListQuery{Kind: kind, Limit: 100_000})
		if err != nil {
			tb.Fatal(err)
		}
		for _, r := range records {
			all = append(all, r)
		}
	}
	events, err := store.Events(tb.Context(), dibs.EventQuery{Limit: 100_000})
	if err != nil {
		tb.Fatal(err)
	}
	data, err := json.Marshal(append(all, events))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
