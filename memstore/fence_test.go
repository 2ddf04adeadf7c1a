package memstore_test

import (
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/storetest"
)

func TestFence(t *testing.T) {
	t.Parallel()
	storetest.RunFence(t, storetest.Harness{
		Open: func(_ testing.TB, clock *storetest.Clock) dibs.Store {
			return memstore.New(memstore.Config{Now: clock.Now})
		},
	})
}
