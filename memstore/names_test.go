package memstore_test

import (
	"encoding/json"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/nametest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/storetest"
)

func TestNames(t *testing.T) {
	t.Parallel()
	nametest.Run(t, func(_ testing.TB, clock *storetest.Clock) *nametest.Harness {
		var cfg memstore.Config
		if clock != nil {
			cfg.Now = clock.Now
		}
		store := memstore.New(cfg) // one for several registries
		return &nametest.Harness{
			Open: func(testing.TB) dibs.Store { return store },
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
