package cli

import (
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/health"
)

// lookAgain is how often a store that is waited for is tried.
const lookAgain = 250 * time.Millisecond

// openStore opens the store, or those of all routes. One that does not answer is waited
// for: after a reboot, or in a group of containers, the database may come later.
func (sv *service) openStore(ctx context.Context) error {
	began := time.Now()
	for tries := 0; ; tries++ {
		sv.health = health.NewMonitor(sv.log)
		layout := sv.config.Layout()
		layout.Logger, layout.Watch = sv.log, sv.health.Watch
		store, err := engine.OpenLayout(ctx, layout)
		if err == nil {
			if tries > 0 {
				sv.log.Info("the store answers", "after", time.Since(began).Round(time.Millisecond))
			}
			sv.store = store
			return nil
		}
		cause, mayCome := comesLater(err)
		if !mayCome || time.Since(began) >= sv.config.Wait {
			return err
		}
		if tries == 0 {
			sv.log.Warn("the store does not answer: waiting for it", "store", engine.Redacted(sv.config.Store),
				"wait", sv.config.Wait, "cause", string(cause), "error", err)
		}
		if backoff.Sleep(ctx, lookAgain) != nil {
			return err
		}
	}
}

// comesLater reports whether a store that could not be opened may be there in a moment.
func comesLater(err error) (cause dibs.Cause, may bool) {
	e, ok := errors.AsType[*dibs.Error](err)
	if !ok {
		return "", false
	}
	return e.Cause, e.Cause == dibs.CauseNoAnswer || e.Cause == dibs.CauseConnections
}
