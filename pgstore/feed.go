package pgstore

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/wake"
)

// numberAtOnce is how many batches one transaction numbers.
const numberAtOnce = maxRows

// number gives the next numbers to committed batches that have none. It reports whether
// there may be more.
func (s *Store) number(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	var numbered int64
	err = s.retry(ctx, func() []call {
		return []call{
			{text: "BEGIN"},
			{text: s.sql.named("lock head")},
			// A statement of its own: it sees all that was committed when it has the lock.
			{text: s.sql.named("number"), args: []any{numberAtOnce}, scan: scanInto(&numbered)},
			{text: "COMMIT"},
		}
	}, func(err error) bool {
		// After a lost answer it is safe to try again: numbered batches are skipped.
		return refused(err) && !lostRace(err) && !isLocked(err)
	})
	return err == nil && numbered == numberAtOnce, unavailable(err)
}

const (
	// notifyAfter is the wait for further commits before a notification, and notifyEvery the
	// pause after one.
	notifyAfter = 2 * time.Millisecond
	notifyEvery = 20 * time.Millisecond

	// purgeEvery is how often empty batches are removed, and purgeAfter their least age: longer
	// than a commit can ask for the outcome of its batch.
	purgeEvery = time.Minute
	purgeAfter = time.Hour
)

// feed numbers the batches of this process soon after their commit, and notifies other processes.
// It only saves readers time: they number the batches that have no number yet.
type feed struct {
	store   *Store
	channel string
	work    chan struct{} // receives after a commit
	stop    context.CancelFunc
	running sync.WaitGroup

	listen      func() // starts listening once
	subscribers wake.List
}

func newFeed(store *Store, schema string) *feed {
	ctx, stop := context.WithCancel(context.Background())
	f := &feed{store: store, channel: channelOf(schema), work: make(chan struct{}, 1), stop: stop}
	f.listen = sync.OnceFunc(func() { f.running.Go(func() { f.receive(ctx, store.pool.Config().ConnConfig) }) })
	f.running.Go(func() { f.run(ctx) })
	return f
}

// channelOf returns the NOTIFY channel of a schema, cut to the length of an identifier. Two
// schemas with the same beginning only wake each other.
func channelOf(schema string) string {
	name := "dibs_" + schema
	return strings.ToValidUTF8(name[:min(len(name), maxIdentifier)], "") // the cut may split a character
}

// committed makes run number new batches.
func (f *feed) committed() {
	select {
	case f.work <- struct{}{}:
	default:
	}
}

func (f *feed) run(ctx context.Context) {
	purge := time.NewTicker(purgeEvery)
	defer purge.Stop()
	for {
		select {
		case <-f.work:
			f.publish(ctx)
		case <-purge.C:
			f.purge(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// publish numbers what was committed and notifies other processes. Without NOTIFY they poll.
func (f *feed) publish(ctx context.Context) {
	if backoff.Sleep(ctx, notifyAfter) != nil {
		return
	}
	for more := true; more; {
		var err error
		if more, err = f.store.number(ctx); err != nil {
			return // the next reader numbers the rest
		}
	}
	if !f.store.cfg.NoNotify {
		f.exec(ctx, f.store.sql.named("notify"), f.channel)
	}
	_ = backoff.Sleep(ctx, notifyEvery)
}

func (f *feed) purge(ctx context.Context) {
	for f.exec(ctx, f.store.sql.named("purge"), time.Now().Add(-purgeAfter).UnixMicro(), maxRows) == maxRows {
	}
}

// exec runs a statement that may fail without harm, and returns how many rows it returned. It
// has a timeout, since the feed does one thing after another.
func (f *feed) exec(ctx context.Context, statement string, args ...any) (rows int64) {
	ctx, cancel := context.WithTimeout(ctx, f.store.cfg.Timeout)
	defer cancel()
	count := func(scanner) error { rows++; return nil } //nolint:unparam // as any scan
	_ = f.store.use(ctx, func(conn *pgx.Conn) error {
		return pipeline(ctx, conn, f.store.sql.withSettings([]call{{text: statement, args: args, scan: count}})...)
	})
	return rows
}

func (f *feed) close() {
	f.stop()
	f.running.Wait()
}

// Wake returns a channel that receives when another process may have committed. It uses NOTIFY,
// which can get lost. With Config.NoNotify the channel is nil.
func (s *Store) Wake(ctx context.Context) <-chan struct{} {
	if s.cfg.NoNotify {
		return nil
	}
	s.feed.listen()
	return s.feed.subscribers.Subscribe(ctx)
}

// receive receives NOTIFY for all subscribers until the context ends, on a connection that is not
// of the pool.
func (f *feed) receive(ctx context.Context, config *pgx.ConnConfig) {
	for retry := (backoff.Backoff{First: 50 * time.Millisecond, Max: 5 * time.Second}); ctx.Err() == nil; _ = retry.Wait(ctx) {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			continue
		}
		if f.wakeSubscribers(ctx, conn) {
			retry.Reset()
		}
		_ = conn.Close(context.WithoutCancel(ctx))
	}
}

// wakeSubscribers wakes the subscribers at each notification, until the connection fails. It
// reports whether there was any.
func (f *feed) wakeSubscribers(ctx context.Context, conn *pgx.Conn) (notified bool) {
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{f.channel}.Sanitize()); err != nil {
		return false
	}
	for {
		f.subscribers.Wake() // also at the start: a notification may have been missed
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return notified
		}
		notified = true
	}
}
