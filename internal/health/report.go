package health

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/calldibs/dibs"
)

// reporter logs the state of an engine: each change once, and a lasting failure now and then,
// with the number of calls that failed since the last line.
type reporter struct {
	store  string
	log    *slog.Logger
	remind time.Duration

	logged   map[dibs.Cause]time.Time // the last line of each cause
	begun    bool                     // the start of the present failure is in the log
	failures int                      // failed calls since the last line
}

func newReporter(store string, log *slog.Logger, remind time.Duration) reporter {
	if store != "" {
		log = log.With("store", store)
	}
	return reporter{store: store, log: log, remind: remind, logged: make(map[dibs.Cause]time.Time)}
}

// flapping is how much more often the log reports new failures than a lasting one.
const flapping = 6

// failing logs a failure, unless it was logged a short time ago.
func (r *reporter) failing(f *failure, begins bool) {
	wait := r.remind
	if begins {
		r.begun = false
		wait /= flapping
	}
	now := time.Now()
	if last, ok := r.logged[f.cause]; ok && now.Sub(last) < wait {
		return
	}
	message := "the store cannot be written to"
	if f.unreachable {
		message = "the store does not answer"
	}
	r.log.Error(message, "cause", string(f.cause), "error", f.err, "since", now.Sub(f.since).Round(time.Second), "failed", r.failures)
	r.logged[f.cause], r.begun, r.failures = now, true, 0
}

// over logs the end of a failure, if its start is in the log.
func (r *reporter) over(f *failure) {
	if r.begun {
		r.log.Info("the store works again", "after", time.Since(f.since).Round(time.Millisecond), "failed", r.failures)
		r.failures = 0
	}
	r.begun = false
}

// reported is an error of a failure that is in the log already.
type reported struct{ error }

func (r reported) Unwrap() error { return r.error }

// Quiet returns a handler that drops log records about failures that a [Monitor] has logged,
// for example of a sweep, a batch or a webhook. At level debug it drops nothing.
func Quiet(next slog.Handler) slog.Handler { return quiet{next} }

type quiet struct{ slog.Handler }

func (q quiet) Handle(ctx context.Context, record slog.Record) error {
	known := false
	record.Attrs(func(a slog.Attr) bool {
		err, _ := a.Value.Any().(error)
		_, known = errors.AsType[reported](err)
		return !known
	})
	if known && !q.Enabled(ctx, slog.LevelDebug) {
		return nil
	}
	return q.Handler.Handle(ctx, record)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
