package pgstore

import "fmt"

// feedStatements are the texts that number and read the feed.
type feedStatements struct {
	outcome       string // of a batch, see [Store.findOutcome]
	namesInBatch  string // the names that a batch has events of
	deleteHistory string // removes the events of names
	redact        string // replaces the bodies of events

	head     string // whether there are batches to number, and the last number
	lockHead string
	number   string
	purge    string // removes batches that have no events left

	page, history         string // of numbered batches
	pageInTx, historyInTx string // also of batches of the same transaction
	notify                string
}

// unnumbered is added to the stamp of a batch without a number, so that it comes behind all
// numbered ones for the transaction that reads it.
const unnumbered = 1 << 62

func newFeedStatements(s *statements) feedStatements {
	batches, table, head := s.table("dibs_batches"), s.table("dibs_events"), s.table("dibs_head")
	const isNumbered = "b.seq IS NOT NULL"
	provisional := fmt.Sprintf("coalesce(b.seq, %d + b.stamp)", int64(unnumbered))
	return feedStatements{
		outcome: fmt.Sprintf(`INSERT INTO %s AS b (id, stamp, live) VALUES ($1::uuid, $2::bigint, -1)
			ON CONFLICT (id) DO UPDATE SET live = b.live RETURNING live`, batches),
		namesInBatch: fmt.Sprintf("SELECT DISTINCT name FROM %s WHERE batch = $1::uuid AND name IS NOT NULL", table),

		// Batches without a number are not updated: their locks would delay the numbering.
		deleteHistory: fmt.Sprintf(`WITH RECURSIVE chain(batch, ord) AS (
				SELECT last_batch, last_ord FROM %[1]s WHERE id = ANY ($1::uuid[]) AND last_batch IS NOT NULL
				UNION ALL
				SELECT e.prev_batch, e.prev_ord FROM chain c JOIN %[2]s e ON e.batch = c.batch AND e.ord = c.ord WHERE e.prev_batch IS NOT NULL),
			history(batch, ord) AS (SELECT batch, ord FROM chain UNION ALL SELECT batch, ord FROM %[2]s WHERE name = ANY ($1::uuid[]) AND loose),
			gone AS (DELETE FROM %[2]s e USING history h WHERE e.batch = h.batch AND e.ord = h.ord RETURNING e.batch)
			UPDATE %[3]s b SET live = b.live - g.n FROM (SELECT batch, count(*) AS n FROM gone GROUP BY batch) g WHERE b.id = g.batch AND b.seq IS NOT NULL`,
			s.table("dibs_names"), table, batches),
		// By the number of the batch; or, in the transaction that wrote the event, by its stamp.
		redact: fmt.Sprintf(`UPDATE %[1]s e SET body = r.body
			FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS r(seq, ord, body)
			CROSS JOIN LATERAL (SELECT id FROM %[2]s WHERE seq = r.seq
				UNION ALL SELECT id FROM %[2]s WHERE seq IS NULL AND stamp = r.seq - %[3]d) b
			WHERE e.batch = b.id AND e.ord = r.ord`, table, batches, int64(unnumbered)),

		head:     fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM %s WHERE seq IS NULL), (SELECT seq FROM %s)", batches, head),
		lockHead: fmt.Sprintf("SELECT seq FROM %s FOR UPDATE", head),
		// A batch that rests on another has the higher stamp, and is never visible without it.
		// So the order of stamps puts it behind.
		number: fmt.Sprintf(`WITH p AS MATERIALIZED (SELECT id, row_number() OVER (ORDER BY stamp, id) AS n
				FROM (SELECT id, stamp FROM %[1]s WHERE seq IS NULL ORDER BY stamp, id LIMIT $1) q),
			u AS (UPDATE %[1]s b SET seq = h.seq + p.n FROM p, %[2]s h WHERE b.id = p.id),
			h AS (UPDATE %[2]s SET seq = seq + (SELECT count(*) FROM p) WHERE EXISTS (SELECT 1 FROM p))
			SELECT count(*) FROM p`, batches, head),
		purge: fmt.Sprintf(`DELETE FROM %[1]s WHERE id IN
			(SELECT id FROM %[1]s WHERE live <= 0 AND seq IS NOT NULL AND stamp < $1 ORDER BY stamp LIMIT $2)`, batches),

		page:    s.pageSQL("b.seq", isNumbered),
		history: s.historySQL("b.seq", isNumbered),
		// One statement, which sees one moment: a batch that is numbered meanwhile is in one of
		// the two parts.
		pageInTx: fmt.Sprintf("SELECT * FROM ((%s) UNION ALL (%s)) u ORDER BY 1, 2 LIMIT $3",
			s.pageSQL("b.seq", isNumbered), s.pageSQL(provisional, "b.seq IS NULL")),
		historyInTx: s.historySQL(provisional, "true"),
		notify:      "SELECT pg_notify($1, '')",
	}
}

// pageSQL reads a page of the feed. It looks up the events of each batch, never the other
// way round, so that the cost of a page does not grow with the feed.
func (s *statements) pageSQL(seq, where string) string {
	return fmt.Sprintf(`SELECT %[1]s, %[2]s FROM %[3]s b
		CROSS JOIN LATERAL (SELECT * FROM %[4]s e WHERE e.batch = b.id AND (%[1]s > $1::bigint OR e.ord > $2::bigint) ORDER BY e.ord) e
		WHERE %[5]s AND %[1]s >= $1::bigint ORDER BY %[1]s, e.ord LIMIT $3`, seq, events.reading("e"), s.table("dibs_batches"), s.table("dibs_events"), where)
}

// historySQL reads the newest events of a name: the chain from its row, or from the event
// before the cursor, and the events in no chain. It follows no more links than the page has
// room for, so the cost of a page does not grow with the history. LATERAL makes it look up
// each link by its key, whatever the planner expects of a chain.
func (s *statements) historySQL(seq, where string) string {
	batches, table := s.table("dibs_batches"), s.table("dibs_events")
	link := fmt.Sprintf(`SELECT %[1]s AS seq, (%[2]s AND ($1::bigint = 0 OR (%[1]s, e.ord) < ($1::bigint, $2::bigint))) AS fits, e.*
		FROM %[3]s e JOIN %[4]s b ON b.id = e.batch`, seq, where, table, batches)
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
		batches, int64(unnumbered), table, s.table("dibs_names"), link, events.reading("e"))
}

// redactCall replaces the bodies of events.
func redactCall(sql *statements, rows []*eventRow) call {
	return call{text: sql.feed.redact, args: []any{
		values(rows, func(e *eventRow) int64 { return e.seq }),
		values(rows, func(e *eventRow) int64 { return e.ord }),
		values(rows, func(e *eventRow) string { return e.body }),
	}}
}

// insertEventsCall writes events. It comes before the names are written, whose rows still
// point to the previous events.
func insertEventsCall(s *statements, batch uuid, rows []*eventRow) call {
	shape, args := chained.shape(rows)
	return call{args: append([]any{batch}, args...), text: s.shaped.get("events "+shape, func() string {
		var p params
		batch := p.next("uuid")
		rows := chained.source(&p, shape)
		var from string
		if !rows.single() {
			from = " FROM " + rows.from
		}
		prevBatch, prevOrd := rows.value["prev_batch"], "CASE WHEN "+rows.value["prev_batch"]+" IS NOT NULL THEN "+rows.value["prev_ord"]+" END"
		if follows := rows.value["follows"]; follows != "NULL::uuid" {
			if rows.single() {
				from = " FROM (SELECT 1) r"
			}
			from += fmt.Sprintf(" LEFT JOIN %s n ON n.id = %s", s.table("dibs_names"), follows)
			prevBatch, prevOrd = "coalesce(n.last_batch, "+prevBatch+")", "coalesce(n.last_ord, "+prevOrd+")"
		}
		return fmt.Sprintf("INSERT INTO %s (batch, %s, prev_batch, prev_ord) SELECT %s, %s, %s, %s%s",
			s.table("dibs_events"), events.list(), batch, events.values(rows), prevBatch, prevOrd, from)
	})}
}
