package health

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/calldibs/dibs"
)

// reporter logs the state of an engine: once for each change, and at a slow beat while
// trouble lasts, with the number of calls that failed since the last line.
type reporter struct {
	store  string
	log    *slog.Logger
	remind time.Duration

	told     map[dibs.Cause]time.Time
	begun    bool // the log knows of the trouble
	failures int  // calls that failed since it was last told
}

func newReporter(store string, log *slog.Logger, remind time.Duration) reporter {
	if store != "" {
		log = log.With("store", store)
	}
	return reporter{store: store, log: log, remind: remind, told: make(map[dibs.Cause]time.Time)}
}

// flapping is by how much more often the log is told of trouble that begins anew than of
// one that lasts.
const flapping = 6

// tell tells of trouble, unless it was told a moment ago.
func (r *reporter) tell(t *trouble, begins bool) {
	if begins {
		r.begun = false
	}
	wait := r.remind
	if begins {
		wait /= flapping
	}
	now := time.Now()
	if last, ok := r.told[t.cause]; ok && now.Sub(last) < wait {
		return
	}
	message := "the store cannot be written to"
	if t.gone {
		message = "the store does not answer"
	}
	r.log.Error(message, "cause", string(t.cause), "error", t.err, "since", now.Sub(t.since).Round(time.Second), "failed", r.failures)
	r.told[t.cause], r.begun, r.failures = now, true, 0
}

// over tells that trouble is over, if the log knows of it.
func (r *reporter) over(t *trouble) {
	if r.begun {
		r.log.Info("the store works again", "after", time.Since(t.since).Round(time.Millisecond), "failed", r.failures)
		r.failures = 0
	}
	r.begun = false
}

// reported is an error that comes of trouble which the log is told of already.
type reported struct{ error }

func (r reported) Unwrap() error { return r.error }

// Quiet returns a handler that drops records whose error comes of trouble that a Board has
// logged: of a sweep, a batch, a webhook. At level debug it drops nothing.
func Quiet(next slog.Handler) slog.Handler { return quiet{next} }

type quiet struct{ slog.Handler }

func (q quiet) Handle(ctx context.Context, record slog.Record) error {
	if q.Enabled(ctx, slog.LevelDebug) {
		return q.Handler.Handle(ctx, record)
	}
	known := false
	record.Attrs(func(a slog.Attr) bool {
		err, _ := a.Value.Any().(error)
		_, known = errors.AsType[reported](err)
		return !known
	})
	if known {
		return nil
	}
	return q.Handler.Handle(ctx, record)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
