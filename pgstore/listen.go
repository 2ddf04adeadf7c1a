package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/wake"
)

// Wake returns a channel that receives when another process may have committed. It uses NOTIFY,
// which can get lost. With Config.NoNotify the channel is nil.
func (s *Store) Wake(ctx context.Context) <-chan struct{} {
	if s.cfg.NoNotify {
		return nil
	}
	s.feed.listener.start()
	return s.feed.listener.subscribers.Subscribe(ctx)
}

// listener receives NOTIFY on one connection for all subscribers.
type listener struct {
	start       func() // starts run once
	subscribers wake.List
}

// run listens until the context ends, on a connection that is not of the pool.
func (l *listener) run(ctx context.Context, config *pgx.ConnConfig, channel string) {
	for retry := (backoff.Backoff{First: 50 * time.Millisecond, Max: 5 * time.Second}); ctx.Err() == nil; _ = retry.Wait(ctx) {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			continue
		}
		if l.listen(ctx, conn, channel) {
			retry.Reset()
		}
		_ = conn.Close(context.WithoutCancel(ctx))
	}
}

// listen wakes the subscribers at each notification, until the connection fails. It reports
// whether there was any.
func (l *listener) listen(ctx context.Context, conn *pgx.Conn, channel string) (notified bool) {
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return false
	}
	for {
		l.subscribers.Wake() // also at the start: a notification may have been missed
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return notified
		}
		notified = true
	}
}
