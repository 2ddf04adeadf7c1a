package pgstore

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Wake returns a channel that receives when another process may have committed
// something. It hangs on NOTIFY, which is a hint: it may fail to come.
func (s *Store) Wake(ctx context.Context) <-chan struct{} {
	if s.cfg.NoNotify {
		return nil // nobody would ever send anything
	}
	return s.feed.listener.subscribe(ctx)
}

// listener hears NOTIFY on one connection for all who wait.
type listener struct {
	start func() // begins to listen, at the first who waits
	once  sync.Once

	mu      sync.Mutex
	waiting map[chan struct{}]bool
}

func (l *listener) subscribe(ctx context.Context) <-chan struct{} {
	l.once.Do(l.start)
	woken := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting = make(map[chan struct{}]bool)
	}
	l.waiting[woken] = true
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, woken)
	})
	return woken
}

func (l *listener) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for woken := range l.waiting {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
}

const maxListenWait = 5 * time.Second

// run listens until the context ends, on a connection of its own: one of the pool
// would be missing there.
func (l *listener) run(ctx context.Context, config *pgx.ConnConfig, channel string) {
	for wait := 50 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, maxListenWait) {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err == nil {
			if l.listen(ctx, conn, channel) {
				wait = 50 * time.Millisecond
			}
			_ = conn.Close(context.WithoutCancel(ctx))
		}
		_ = pause(ctx, jitter(wait))
	}
}

// listen wakes those who wait at each notification, until the connection fails. It
// reports whether it heard anything at all.
func (l *listener) listen(ctx context.Context, conn *pgx.Conn, channel string) (heard bool) {
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return false
	}
	for {
		l.wake() // also after a pause, in which something may have come
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return heard
		}
		heard = true
	}
}
