package pgstore

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// staleMark begins the error that ends a transaction whose groups rest on
// something that has changed. It is what an operator finds in the server's log.
const staleMark = "dibs: another writer was faster, this is decided again"

// databaseClock is the time in milliseconds, at the moment it is evaluated: now()
// would be when the transaction began, before it waited for locks.
const databaseClock = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

// statements are the texts of all that the engine says, for one schema.
type statements struct {
	schema string // quoted
	clock  string

	load, now, due, owned, await string

	park  string // names that stop being an entity's active one step aside
	close string // the transaction's batch, once the window is checked
	feed  feedStatements

	shaped shapedTexts
}

func newStatements(schema, clock string) *statements {
	if clock == "" {
		clock = databaseClock
	}
	s := &statements{schema: pgx.Identifier{schema}.Sanitize(), clock: clock}
	s.load = s.loadText()
	s.now = "SELECT " + clock
	s.due = s.dueText()
	s.owned = s.ownedText()
	s.await = s.awaitText()
	s.park = "UPDATE " + s.table("dibs_names") + " SET state = 'alias' WHERE id = ANY ($1::uuid[]) AND state = 'active'"
	s.close = fmt.Sprintf(`WITH b AS (INSERT INTO %s (id, stamp, live) VALUES ($1::uuid, $2::bigint, $3::bigint))
		SELECT %s FROM (SELECT %s AS now) c`,
		s.table("dibs_batches"), sure("c.now >= $4::bigint AND ($5::bigint = 0 OR c.now < $5)", "c.now", "c.now"), clock)
	s.feed = newFeedStatements(s)
	return s
}

// table returns a table's name with its schema.
func (s *statements) table(name string) string { return s.schema + "." + name }

// sure is an expression that fails unless the condition holds. There is no
// statement for that in plain SQL, so a sentence is read as a number; what keeps it
// from being evaluated while planning is the detail, which must not be a constant.
func sure(condition, value, detail string) string {
	return fmt.Sprintf("CASE WHEN %s THEN %s ELSE concat('%s (', %s, ')')::bigint END", condition, value, staleMark, detail)
}

// shapedTexts are the texts that depend on the shape of their rows, see [form].
// There are few shapes in practice: each command has its own.
type shapedTexts struct {
	mu    sync.RWMutex
	texts map[string]string
}

// maxShapes bounds what is kept, here and on the server for each connection.
const maxShapes = 256

func (t *shapedTexts) get(shape string, build func() string) string {
	t.mu.RLock()
	text, ok := t.texts[shape]
	t.mu.RUnlock()
	if ok {
		return text
	}
	text = build()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.texts == nil || len(t.texts) >= maxShapes {
		t.texts = make(map[string]string)
	}
	t.texts[shape] = text
	return text
}

// The statements below change rows of one table, or keep them as they are until the
// transaction's end. Each counts the rows that were as expected. The sure ones fail
// where they are fewer, so that what follows in a pipeline is not done.

func counting(sureOf bool, rows source, with string) string {
	if sureOf {
		return with + " SELECT " + sure("count(*) = "+rows.count, "count(*)", "count(*)") + " FROM done"
	}
	return with + " SELECT count(*) FROM done"
}

// insertCall inserts rows that are absent.
func insertCall[R any](s *statements, t table[R], rows []*R, sureOf bool) call {
	shape, args := t.shape(rows)
	return call{args: args, text: s.shaped.get(fmt.Sprint("insert ", t.name, sureOf, shape), func() string {
		var p params
		rows := t.source(&p, shape)
		return counting(sureOf, rows, "WITH done AS ("+insertText(s, t, rows, "")+" ON CONFLICT"+t.arbiter()+" DO NOTHING RETURNING 1)")
	})}
}

// arbiter is the index that tells whether a row is there already. Documents have two
// that mean the same, and either may be the first to notice.
func (t table[R]) arbiter() string {
	if len(t.key) > 1 {
		return ""
	}
	return " (" + t.key[0] + ")"
}

func insertText[R any](s *statements, t table[R], rows source, where string) string {
	text := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s", s.table(t.name), t.list(), t.values(rows))
	if rows.single() {
		return text + where
	}
	return text + " FROM " + rows.from + where + " ORDER BY " + t.keys("r")
}

// updateCall changes rows. Several are locked in the order of their keys first, so
// that writers that meet cannot deadlock.
func updateCall[R any](s *statements, t table[R], rows []*R) call {
	return changeCall(s, t, "update ", rows)
}

// renewCall changes rows altogether, but for their keys.
func renewCall[R any](s *statements, t table[R], rows []*R) call {
	t.fixed = t.key
	return changeCall(s, t, "renew ", rows)
}

func changeCall[R any](s *statements, t table[R], verb string, rows []*R) call {
	expecting := t.expecting()
	shape, args := expecting.shape(rows)
	return call{args: args, text: s.shaped.get(verb+t.name+shape, func() string {
		var p params
		rows := expecting.source(&p, shape)
		var columns, sets []string
		for _, c := range expecting.columns {
			value := rows.value[c.name]
			if rows.array[c.name] {
				columns = append(columns, value+" AS "+c.name)
				value = "l." + c.name
			}
			if !slices.Contains(t.fixed, c.name) && c.name != t.expected.name {
				sets = append(sets, c.name+" = "+t.kept(c.name, value))
			}
		}
		where := expectedText(t, rows)
		if stamp, ok := rows.value["stamp"]; ok {
			where += " AND t.stamp < " + stamp
		}
		update := fmt.Sprintf("UPDATE %s t SET %s", s.table(t.name), strings.Join(sets, ", "))
		if rows.single() {
			return counting(true, rows, "WITH done AS ("+update+" WHERE "+where+" RETURNING 1)")
		}
		return counting(true, rows, fmt.Sprintf(`WITH l AS MATERIALIZED (SELECT %s FROM %s JOIN %s t ON %s ORDER BY %s FOR UPDATE OF t),
			done AS (%s FROM l WHERE %s RETURNING 1)`,
			strings.Join(columns, ", "), rows.from, s.table(t.name), where, t.keys("t"), update, t.same("t", "l")))
	})}
}

// expectedText is the condition that a row of the table, as t, is the one meant and
// has the revision expected.
func expectedText[R any](t table[R], rows source) string {
	return t.is(rows) + " AND t.rev = " + rows.value[t.expected.name]
}

// kept is a column's new value. The end of a name's history moves only with events.
func (t table[R]) kept(column, value string) string {
	switch column {
	case "last_batch":
		return "coalesce(" + value + ", t.last_batch)"
	case "last_ord":
		return "coalesce(nullif(" + value + ", -1), t.last_ord)"
	}
	return value
}

// removeCall deletes rows.
func removeCall[R any](s *statements, t table[R], rows []*R) call {
	keys := t.expectingKeys()
	shape, args := keys.shape(rows)
	return call{args: args, text: s.shaped.get("remove "+t.name+shape, func() string {
		var p params
		rows := keys.source(&p, shape)
		if rows.single() {
			return counting(true, rows, fmt.Sprintf("WITH done AS (DELETE FROM %s t WHERE %s RETURNING 1)", s.table(t.name), expectedText(t, rows)))
		}
		return counting(true, rows, fmt.Sprintf(`WITH l AS MATERIALIZED (SELECT %s FROM %s JOIN %s t ON %s ORDER BY %s FOR UPDATE OF t),
			done AS (DELETE FROM %s t USING l WHERE %s RETURNING 1)`,
			t.keys("t"), rows.from, s.table(t.name), expectedText(t, rows), t.keys("t"), s.table(t.name), t.same("t", "l")))
	})}
}

// lockCall keeps rows as they are: from being changed (SHARE), or for a change of
// the transaction's own (UPDATE).
func lockCall[R any](s *statements, t table[R], rows []*R, how string, sureOf bool) call {
	keys := t.expectingKeys()
	shape, args := keys.shape(rows)
	return call{args: args, text: s.shaped.get(fmt.Sprint("lock ", how, t.name, sureOf, shape), func() string {
		var p params
		rows := keys.source(&p, shape)
		return counting(sureOf, rows, "WITH done AS MATERIALIZED ("+lockText(s, t, rows, how)+")")
	})}
}

func lockText[R any](s *statements, t table[R], rows source, how string) string {
	if rows.single() {
		return fmt.Sprintf("SELECT 1 FROM %s t WHERE %s FOR %s", s.table(t.name), expectedText(t, rows), how)
	}
	return fmt.Sprintf("SELECT 1 FROM %s JOIN %s t ON %s ORDER BY %s FOR %s OF t",
		rows.from, s.table(t.name), expectedText(t, rows), t.keys("t"), how)
}

// clearCall removes rows that only keep a place.
func clearCall[R any](s *statements, t table[R], rows []*R) call {
	keys := t.keysOnly()
	shape, args := keys.shape(rows)
	return call{args: args, text: s.shaped.get("clear "+t.name+shape, func() string {
		var p params
		rows := keys.source(&p, shape)
		using := ""
		if !rows.single() {
			using = " USING " + rows.from
		}
		return fmt.Sprintf("DELETE FROM %s t%s WHERE %s AND t.rev = 0", s.table(t.name), using, t.is(rows))
	})}
}

// tellCall writes events. It comes before the names are written, whose rows still
// have the event before.
func tellCall(s *statements, batch uuid, rows []*eventRow) call {
	shape, args := chained.shape(rows)
	return call{args: append([]any{batch}, args...), text: s.shaped.get("tell "+shape, func() string {
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

// loadText reads records of all kinds by one statement, which sees one moment: each
// row of its result has a name, an entity and a document that have nothing to do
// with each other.
func (s *statements) loadText() string {
	return fmt.Sprintf(`SELECT c.now, %s, %s, %s
		FROM (SELECT %s AS now) c
		LEFT JOIN unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[]) AS r(name, entity, kind, document) ON true
		LEFT JOIN %s n ON n.id = r.name
		LEFT JOIN %s e ON e.id = r.entity
		LEFT JOIN %s d ON d.kind = r.kind AND d.id = r.document`,
		names.reading("n"), entities.reading("e"), documents.reading("d"), s.clock,
		s.table("dibs_names"), s.table("dibs_entities"), s.table("dibs_documents"))
}

func (s *statements) dueText() string {
	part := func(columns, table string) string {
		return fmt.Sprintf("(SELECT due, %s, id FROM %s WHERE due <= (SELECT now FROM c) ORDER BY due LIMIT $1)", columns, s.table(table))
	}
	return "WITH c AS MATERIALIZED (SELECT " + s.clock + " AS now) SELECT kind, scope, id FROM (" +
		part("'name' AS kind, namespace AS scope", "dibs_names") + " UNION ALL " +
		part("'entity', coalesce(scope, '')", "dibs_entities") + " UNION ALL " +
		part("kind, coalesce(scope, '')", "dibs_documents") + ") d ORDER BY due LIMIT $1"
}

func (s *statements) ownedText() string {
	part := func(where string) string {
		return "SELECT " + names.list() + " FROM " + s.table("dibs_names") + " WHERE owner = $1::uuid AND " + where
	}
	return "SELECT " + names.reading("n") + " FROM (" + part("state = 'active' AND NOT many") + " UNION ALL " +
		part("(state = 'alias' OR (state = 'active' AND many))") + ") n ORDER BY n.namespace, n.canonical LIMIT $2"
}
