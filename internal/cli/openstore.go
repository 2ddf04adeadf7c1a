package cli

import (
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/health"
)

// openEvery is the pause between attempts to open a store.
const openEvery = 250 * time.Millisecond

// openStore opens the store and those of all routes. It waits for one that does not answer: after
// a reboot, or in a group of containers, the database may start later.
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
		cause, retry := mayAnswerLater(err)
		if !retry || time.Since(began) >= sv.config.Wait {
			return err
		}
		if tries == 0 {
			sv.log.Warn("the store does not answer: waiting for it", "store", engine.Redacted(sv.config.Store),
				"wait", sv.config.Wait, "cause", string(cause), "error", err)
		}
		select {
		case <-time.After(openEvery):
		case <-ctx.Done():
			return err
		}
	}
}

// mayAnswerLater reports whether opening a store may succeed later, and why it failed.
func mayAnswerLater(err error) (cause dibs.Cause, may bool) {
	e, ok := errors.AsType[*dibs.Error](err)
	if !ok {
		return "", false
	}
	return e.Cause, e.Cause == dibs.CauseNoAnswer || e.Cause == dibs.CauseConnections
}
