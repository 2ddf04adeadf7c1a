package health_test

import (
	"log/slog"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/health"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/storetest"
)

// An engine that is watched is as good as it was.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		Open: func(_ testing.TB, clock *storetest.Clock) dibs.Store {
			board := health.NewBoard(slog.New(slog.DiscardHandler), health.Pace{})
			return board.Watch("", memstore.New(memstore.Config{Now: clock.Now}))
		},
	})
}
