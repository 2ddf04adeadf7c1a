package health_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/health"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/storetest"
)

// An engine that is watched is as good as it was.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		Open: func(tb testing.TB, clock *storetest.Clock) dibs.Store {
			// The only probe is over before a case starts: a case that stalls the clock means
			// a call of its own.
			board := health.NewBoard(slog.New(slog.DiscardHandler), health.Pace{Idle: time.Hour, Failing: time.Hour, Slow: time.Hour})
			store := board.Watch("", memstore.New(memstore.Config{Now: clock.Now}))
			board.States(tb.Context())
			return store
		},
	})
}
