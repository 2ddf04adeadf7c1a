package health_test

import (
	"log/slog"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/health"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/storetest"
)

// A watched engine keeps all promises of a store.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		Open: func(tb testing.TB, clock *storetest.Clock) dibs.Store {
			// The only probe ends before a case starts, so that a case which stalls the clock
			// stalls only its own calls.
			monitor := health.NewRareMonitor(slog.New(slog.DiscardHandler))
			store := monitor.Watch("", memstore.New(memstore.Config{Now: clock.Now}))
			monitor.States(tb.Context())
			return store
		},
	})
}
