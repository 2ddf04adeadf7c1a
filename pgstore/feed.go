package pgstore

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// feedStatements number what was committed, and read it.
type feedStatements struct {
	settle string // the fate of a batch, see [Store.settle]
	told   string // the names that a batch told of
	forget string // removes the events of names
	redact string // lets events say less

	head     string // whether there is something to number, and the last number
	lockHead string
	number   string
	tidy     string // removes batches that have no events left

	page, history         string // what is numbered
	whole, historyWithOwn string // and what a transaction sees besides
	notify                string
}

// unnumbered is added to the stamp of a batch without a number: so it stands behind
// all that have one, for the transaction that looks.
const unnumbered = 1 << 62

func newFeedStatements(s *statements) feedStatements {
	var (
		batches, told, head = s.table("dibs_batches"), s.table("dibs_events"), s.table("dibs_head")
		columns             = events.reading("e")
		provisional         = fmt.Sprintf("coalesce(b.seq, %d + b.stamp)", int64(unnumbered))
	)
	// For each batch its events, never the other way round: a page costs what is on
	// it, however long the feed.
	byBatch := func(seq, where string) string {
		return fmt.Sprintf(`SELECT %[1]s, %[2]s FROM %[3]s b
			CROSS JOIN LATERAL (SELECT * FROM %[4]s e WHERE e.batch = b.id AND (%[1]s > $1::bigint OR e.ord > $2::bigint) ORDER BY e.ord) e
			WHERE %[5]s AND %[1]s >= $1::bigint ORDER BY %[1]s, e.ord LIMIT $3`, seq, columns, batches, told, where)
	}
	// The newest events of a name: its chain from the row, or from the event before the one
	// that was seen last, and those in no chain. No more links are followed than the page has
	// room for, so that a long history is never walked as a whole. LATERAL has each link
	// looked up by its key, whatever the planner expects of a chain.
	history := func(seq, where string) string {
		link := fmt.Sprintf(`SELECT %[1]s AS seq, (%[2]s AND ($1::bigint = 0 OR (%[1]s, e.ord) < ($1::bigint, $2::bigint))) AS fits, e.*
			FROM %[3]s e JOIN %[4]s b ON b.id = e.batch`, seq, where, told, batches)
		return fmt.Sprintf(`WITH RECURSIVE seen AS (
				SELECT e.* FROM (SELECT id FROM %[1]s WHERE seq = $1::bigint UNION ALL SELECT id FROM %[1]s WHERE seq IS NULL AND stamp = $1::bigint - %[2]d) b
				CROSS JOIN LATERAL (SELECT prev_batch, prev_ord, loose FROM %[3]s WHERE batch = b.id AND ord = $2::bigint AND name = $4::uuid) e),
			newest(batch, ord) AS (
				SELECT last_batch, last_ord FROM %[4]s WHERE id = $4::uuid AND ($1::bigint = 0 OR EXISTS (SELECT 1 FROM seen WHERE loose))
				UNION ALL SELECT prev_batch, prev_ord FROM seen WHERE NOT loose),
			chain AS (
				SELECT l.*, l.fits::int AS n FROM newest c CROSS JOIN LATERAL (%[5]s WHERE e.batch = c.batch AND e.ord = c.ord) l
				UNION ALL
				SELECT l.*, c.n + l.fits::int FROM chain c CROSS JOIN LATERAL (%[5]s WHERE e.batch = c.prev_batch AND e.ord = c.prev_ord) l WHERE c.n < $3)
			SELECT seq, %[6]s FROM (SELECT * FROM chain UNION ALL SELECT l.*, 0 FROM (%[5]s WHERE e.name = $4::uuid AND e.loose) l) e
			WHERE fits ORDER BY seq DESC, ord DESC LIMIT $3`,
			batches, int64(unnumbered), told, s.table("dibs_names"), link, columns)
	}
	return feedStatements{
		settle: fmt.Sprintf(`INSERT INTO %s AS b (id, stamp, live) VALUES ($1::uuid, $2::bigint, -1)
			ON CONFLICT (id) DO UPDATE SET live = b.live RETURNING live`, batches),
		told: fmt.Sprintf("SELECT DISTINCT name FROM %s WHERE batch = $1::uuid AND name IS NOT NULL", told),

		// What has no number yet is left alone: its lock would hold up all who number.
		forget: fmt.Sprintf(`WITH RECURSIVE chain(batch, ord) AS (
				SELECT last_batch, last_ord FROM %[1]s WHERE id = ANY ($1::uuid[]) AND last_batch IS NOT NULL
				UNION ALL
				SELECT e.prev_batch, e.prev_ord FROM chain c JOIN %[2]s e ON e.batch = c.batch AND e.ord = c.ord WHERE e.prev_batch IS NOT NULL),
			history(batch, ord) AS (SELECT batch, ord FROM chain UNION ALL SELECT batch, ord FROM %[2]s WHERE name = ANY ($1::uuid[]) AND loose),
			gone AS (DELETE FROM %[2]s e USING history h WHERE e.batch = h.batch AND e.ord = h.ord RETURNING e.batch)
			UPDATE %[3]s b SET live = b.live - g.n FROM (SELECT batch, count(*) AS n FROM gone GROUP BY batch) g WHERE b.id = g.batch AND b.seq IS NOT NULL`,
			s.table("dibs_names"), told, batches),
		// By a place in the feed; or, in the transaction that told of it, by its stamp.
		redact: fmt.Sprintf(`UPDATE %[1]s e SET body = r.body
			FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS r(seq, ord, body)
			CROSS JOIN LATERAL (SELECT id FROM %[2]s WHERE seq = r.seq
				UNION ALL SELECT id FROM %[2]s WHERE seq IS NULL AND stamp = r.seq - %[3]d) b
			WHERE e.batch = b.id AND e.ord = r.ord`, told, batches, int64(unnumbered)),

		head:     fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM %s WHERE seq IS NULL), (SELECT seq FROM %s)", batches, head),
		lockHead: fmt.Sprintf("SELECT seq FROM %s FOR UPDATE", head),
		// A batch that rests on another has the higher stamp, and is not seen without
		// it: so the order of stamps puts it behind.
		number: fmt.Sprintf(`WITH p AS MATERIALIZED (SELECT id, row_number() OVER (ORDER BY stamp, id) AS n
				FROM (SELECT id, stamp FROM %[1]s WHERE seq IS NULL ORDER BY stamp, id LIMIT $1) q),
			u AS (UPDATE %[1]s b SET seq = h.seq + p.n FROM p, %[2]s h WHERE b.id = p.id),
			h AS (UPDATE %[2]s SET seq = seq + (SELECT count(*) FROM p) WHERE EXISTS (SELECT 1 FROM p))
			SELECT count(*) FROM p`, batches, head),
		tidy: fmt.Sprintf(`DELETE FROM %[1]s WHERE id IN
			(SELECT id FROM %[1]s WHERE live <= 0 AND seq IS NOT NULL AND stamp < $1 ORDER BY stamp LIMIT $2)`, batches),

		page:    byBatch("b.seq", "b.seq IS NOT NULL"),
		history: history("b.seq", "b.seq IS NOT NULL"),
		// One statement, which sees one moment: what is numbered meanwhile is in one of
		// the two.
		whole: fmt.Sprintf("SELECT * FROM ((%s) UNION ALL (%s)) u ORDER BY 1, 2 LIMIT $3",
			byBatch("b.seq", "b.seq IS NOT NULL"), byBatch(provisional, "b.seq IS NULL")),
		historyWithOwn: history(provisional, "true"),
		notify:         "SELECT pg_notify($1, '')",
	}
}

// numberAtOnce is how many batches are numbered in one transaction.
const numberAtOnce = maxRows

// number gives the next numbers to what is committed and has none. It reports
// whether there may be more.
func (s *Store) number(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	var numbered int64
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		err = s.use(ctx, func(conn *pgx.Conn) error {
			return pipeline(ctx, conn,
				call{text: "BEGIN"},
				call{text: s.sql.feed.lockHead},
				// A statement of its own: it sees all that was committed when it has the lock.
				call{text: s.sql.feed.number, args: []any{numberAtOnce}, scan: func(row scanner) error { return row.Scan(&numbered) }},
				call{text: "COMMIT"})
		})
		if err == nil || refused(err) && !lostRace(err) && !isBusy(err) {
			return numbered == numberAtOnce, unavailable(err)
		}
		// Others number too, and whoever does it, it is done. After a lost answer it
		// is done again: there is nothing to do then.
		if pause(ctx, jitter(wait)) != nil {
			return false, unavailable(err)
		}
	}
}

const (
	// announceAfter is how long commits are gathered before they are announced, and
	// announceEvery how often that is done.
	announceAfter = 2 * time.Millisecond
	announceEvery = 20 * time.Millisecond

	// tidyEvery is how often empty batches are removed, and tidyAfter their age then:
	// long after anybody could ask what became of one.
	tidyEvery = time.Minute
	tidyAfter = time.Hour
)

// feed numbers what this process commits soon after, and tells others of it. It
// only saves readers the work, and time: they number what they find.
type feed struct {
	store   *Store
	channel string
	work    chan struct{} // something was committed
	stop    context.CancelFunc
	running sync.WaitGroup

	listener listener
}

func newFeed(store *Store, schema string) *feed {
	ctx, stop := context.WithCancel(context.Background())
	f := &feed{store: store, channel: channelOf(schema), work: make(chan struct{}, 1), stop: stop}
	f.listener.start = func() { f.running.Go(func() { f.listener.run(ctx, store.pool.Config().ConnConfig, f.channel) }) }
	f.running.Go(func() { f.run(ctx) })
	return f
}

// channelOf is the channel of NOTIFY for a schema. Longer names are not to be had;
// two that begin alike only wake each other.
func channelOf(schema string) string {
	name := "dibs_" + schema
	// Half a character is none.
	return strings.ToValidUTF8(name[:min(len(name), maxIdentifier)], "")
}

// committed tells that there is something to announce.
func (f *feed) committed() {
	select {
	case f.work <- struct{}{}:
	default:
	}
}

func (f *feed) run(ctx context.Context) {
	tidy := time.NewTicker(tidyEvery)
	defer tidy.Stop()
	for {
		select {
		case <-f.work:
			f.announce(ctx)
		case <-tidy.C:
			f.tidy(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (f *feed) announce(ctx context.Context) {
	if pause(ctx, announceAfter) != nil {
		return
	}
	for more := true; more; {
		var err error
		if more, err = f.store.number(ctx); err != nil {
			return // the next reader does it
		}
	}
	f.hint(ctx)
	_ = pause(ctx, announceEvery)
}

// hint wakes those who wait for events. Where there is no NOTIFY they find out by
// themselves.
func (f *feed) hint(ctx context.Context) {
	if f.store.cfg.NoNotify {
		return
	}
	f.exec(ctx, f.store.sql.feed.notify, f.channel)
}

func (f *feed) tidy(ctx context.Context) {
	for f.exec(ctx, f.store.sql.feed.tidy, time.Now().Add(-tidyAfter).UnixMicro(), maxRows) == maxRows {
	}
}

// exec runs a statement that may as well fail, and returns how many rows it changed. It
// must not take for ever: the feed does one thing after another.
func (f *feed) exec(ctx context.Context, statement string, args ...any) (rows int64) {
	ctx, cancel := context.WithTimeout(ctx, f.store.cfg.Timeout)
	defer cancel()
	_ = f.store.use(ctx, func(conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, statement, args...)
		rows = tag.RowsAffected()
		return err
	})
	return rows
}

func (f *feed) close() {
	f.stop()
	f.running.Wait()
}
