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

// openEvery is the pause between attempts to open a store.
const openEvery = 250 * time.Millisecond

// openStore opens the store and those of all routes. It waits for one that does not answer: after
// a reboot, or in a group of containers, the database may start later.
func (sv *service) openStore(ctx context.Context) error {
	began := time.Now()
	for tries := 0; ; tries++ {
		sv.health = health.NewMonitor(sv.log)
		store, err := engine.OpenLayout(ctx, engine.Layout{
			Store: sv.config.Store, Routes: sv.config.Routes, Logger: sv.log, Watch: sv.health.Watch,
		})
		if err == nil {
			if tries > 0 {
				sv.log.Info("the store answers", "after", time.Since(began).Round(time.Millisecond))
			}
			sv.store = store
			return nil
		}
		failed, ok := errors.AsType[*dibs.Error](err)
		mayAnswerLater := ok && (failed.Cause == dibs.CauseNoAnswer || failed.Cause == dibs.CauseConnections)
		if !mayAnswerLater || time.Since(began) >= sv.config.Wait {
			return err
		}
		if tries == 0 {
			sv.log.Warn("the store does not answer: waiting for it", "store", engine.Redacted(sv.config.Store),
				"wait", sv.config.Wait, "cause", string(failed.Cause), "error", err)
		}
		if backoff.Sleep(ctx, openEvery) != nil {
			return err
		}
	}
}
