package pgstore

import (
	"cmp"
	_ "embed" // for statements.sql
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// staleMark begins the error that ends a transaction with a stale group. The server logs it.
const staleMark = "dibs: another writer was faster, the command is decided again"

// databaseClock is the present time in milliseconds. now() would be the time at which the
// transaction began, before it waited for locks.
const databaseClock = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

// unnumbered is added to the stamp of a batch without a number, so that it comes behind all
// numbered ones for the transaction that reads it.
const unnumbered = 1 << 62

//go:embed statements.sql
var statementsFile string

// statements are the texts of the statements for one schema.
type statements struct {
	schema string // quoted
	clock  string
	texts  map[string]string // of the statements in statements.sql
	shaped shapedTexts

	// settings is what every transaction begins with, if its session has no settings of its own.
	settings *call
}

// withSettings returns the calls of a transaction, with its settings.
func (s *statements) withSettings(calls []call) []call {
	if s.settings == nil {
		return calls
	}
	if strings.HasPrefix(calls[0].text, "BEGIN") {
		return slices.Insert(calls, 1, *s.settings)
	}
	return slices.Insert(calls, 0, *s.settings) // the pipeline is a transaction
}

func newStatements(schema, clock string) *statements {
	s := &statements{schema: pgx.Identifier{schema}.Sanitize(), clock: cmp.Or(clock, databaseClock), texts: make(map[string]string)}
	for part := range strings.SplitSeq(statementsFile, "-- name: ") {
		name, text, _ := strings.Cut(part, "\n")
		s.texts[name] = withoutComments(text)
	}
	for _, part := range []string{"link", "line", "change"} {
		for name, text := range s.texts {
			s.texts[name] = strings.ReplaceAll(text, "{"+part+"}", s.texts[part])
		}
	}
	page, history := s.texts["page"], s.texts["history"]
	numbered := strings.NewReplacer("{seq}", "b.seq", "{included}", "b.seq IS NOT NULL")
	s.texts["page"], s.texts["history"] = numbered.Replace(page), numbered.Replace(history)
	// A transaction also reads its own batches, which have no number yet. A page is one statement,
	// which sees one moment: a batch that is numbered meanwhile is in one of the two parts.
	const provisional = "coalesce(b.seq, {unnumbered} + b.stamp)"
	s.texts["page in tx"] = "SELECT * FROM ((" + s.texts["page"] + ") UNION ALL (" +
		strings.NewReplacer("{seq}", provisional, "{included}", "b.seq IS NULL").Replace(page) + ")) u ORDER BY 1, 2 LIMIT $3"
	// A snapshot reads batches that have got their numbers since.
	s.texts["page in snapshot"] = strings.NewReplacer("{seq}", "($4::bigint + array_position($5::uuid[], b.id))", "{included}", "b.id = ANY ($5::uuid[])").Replace(page)
	number := s.texts["number"]
	s.texts["number"], s.texts["number some"] = strings.ReplaceAll(number, "{which}", ""), strings.ReplaceAll(number, "{which}", " AND id = ANY ($2::uuid[])")
	s.texts["history in tx"] = strings.NewReplacer("{seq}", provisional, "{included}", "true").Replace(history)
	fill := strings.NewReplacer("{schema}", s.schema, "{clock}", s.clock, "{unnumbered}", strconv.FormatInt(unnumbered, 10),
		"{names}", names.reading("n"), "{entities}", entities.reading("e"), "{documents}", documents.reading("d"),
		"{window}", assertSQL("c.now >= $4::bigint AND ($5::bigint = 0 OR c.now < $5)", "c.now", "c.now"))
	for name, text := range s.texts {
		s.texts[name] = fill.Replace(text)
	}
	return s
}

// named returns a statement of statements.sql.
func (s *statements) named(name string) string {
	text, ok := s.texts[name]
	if !ok {
		panic("pgstore: there is no statement " + name)
	}
	return text
}

// table returns a table's name with its schema.
func (s *statements) table(name string) string { return s.schema + "." + name }

// assertSQL returns an expression that fails unless the condition holds. SQL has no assertion,
// so the expression casts a text to a number. The detail must not be a constant: the planner
// would evaluate the cast.
func assertSQL(condition, value, detail string) string {
	return fmt.Sprintf("CASE WHEN %s THEN %s ELSE concat('%s (', %s, ')')::bigint END", condition, value, staleMark, detail)
}

// shapedTexts caches the texts that depend on the shape of their rows, see [form]. There are
// few shapes in practice: about one for each command.
type shapedTexts struct {
	mu    sync.RWMutex
	texts map[string]string
}

// maxShapes bounds the cache, here and on the server for each connection.
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

// shapedCall returns the call whose text build makes for rows of this shape. The verb and the
// table identify the text.
func shapedCall(s *statements, verb string, t table[row], rows []*row, build func(rows source) string) call {
	shape, args := t.shape(rows)
	return call{args: args, text: s.shaped.get(verb+t.name+shape, func() string {
		var p params
		return build(t.source(&p, shape))
	})}
}

// The statements below change rows of one table, or lock them until the end of the
// transaction. Each counts the rows that were as expected. With assert it fails if there were
// fewer, so that the server skips the rest of the pipeline.

func countSQL(assert bool, rows source, with string) string {
	if assert {
		return with + " SELECT " + assertSQL("count(*) = "+rows.count, "count(*)", "count(*)") + " FROM done"
	}
	return with + " SELECT count(*) FROM done"
}

// insertCall inserts rows that are absent.
func insertCall(s *statements, t table[row], rows []*row, assert bool) call {
	return shapedCall(s, fmt.Sprint("insert ", assert), t, rows, func(rows source) string {
		return countSQL(assert, rows, "WITH done AS ("+insertSQL(s, t, rows, "")+" ON CONFLICT"+arbiter(t)+" DO NOTHING RETURNING 1)")
	})
}

// arbiter returns the index that detects an existing row. Documents have two such indexes,
// and either may be the first to detect it.
func arbiter(t table[row]) string {
	if len(t.key) > 1 {
		return ""
	}
	return " (" + t.key[0] + ")"
}

func insertSQL(s *statements, t table[row], rows source, where string) string {
	text := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s", s.table(t.name), t.list(), t.values(rows))
	if rows.single() {
		return text + where
	}
	return text + " FROM " + rows.from + where + " ORDER BY " + t.keys("r")
}

// updateCall changes the columns of rows that are not fixed. It first locks several rows in the
// order of their keys, so that concurrent writers cannot deadlock.
func updateCall(s *statements, verb string, t table[row], rows []*row) call {
	expecting := expecting(t)
	return shapedCall(s, verb, expecting, rows, func(rows source) string {
		var columns, sets []string
		for _, c := range expecting.columns {
			value := rows.value[c.name]
			if rows.array[c.name] {
				columns = append(columns, value+" AS "+c.name)
				value = "l." + c.name
			}
			if !slices.Contains(t.fixed, c.name) && c.name != expected.name {
				sets = append(sets, c.name+" = "+kept(c.name, value))
			}
		}
		where := expectedSQL(t, rows)
		if stamp, ok := rows.value["stamp"]; ok {
			where += " AND t.stamp < " + stamp
		}
		update := fmt.Sprintf("UPDATE %s t SET %s", s.table(t.name), strings.Join(sets, ", "))
		if rows.single() {
			return countSQL(true, rows, "WITH done AS ("+update+" WHERE "+where+" RETURNING 1)")
		}
		return countSQL(true, rows, fmt.Sprintf(`WITH l AS MATERIALIZED (SELECT %s FROM %s JOIN %s t ON %s ORDER BY %s FOR UPDATE OF t),
			done AS (%s FROM l WHERE %s RETURNING 1)`,
			strings.Join(columns, ", "), rows.from, s.table(t.name), where, t.keys("t"), update, t.isOneOf("l")))
	})
}

// expectedSQL returns the condition that a row of the table, as t, has the key and the
// expected revision.
func expectedSQL(t table[row], rows source) string {
	return t.is(rows.of) + " AND t.rev = " + rows.value[expected.name]
}

// kept returns the new value of a column. The end of a name's history moves only with events.
func kept(column, value string) string {
	switch column {
	case "last_batch":
		return "coalesce(" + value + ", t.last_batch)"
	case "last_ord":
		return "coalesce(nullif(" + value + ", -1), t.last_ord)"
	}
	return value
}

// removeCall deletes rows.
func removeCall(s *statements, t table[row], rows []*row) call {
	return shapedCall(s, "remove ", expectingKeys(t), rows, func(rows source) string {
		if rows.single() {
			return countSQL(true, rows, fmt.Sprintf("WITH done AS (DELETE FROM %s t WHERE %s RETURNING 1)", s.table(t.name), expectedSQL(t, rows)))
		}
		return countSQL(true, rows, fmt.Sprintf(`WITH l AS MATERIALIZED (SELECT %s FROM %s JOIN %s t ON %s ORDER BY %s FOR UPDATE OF t),
			done AS (DELETE FROM %s t USING l WHERE %s RETURNING 1)`,
			t.keys("t"), rows.from, s.table(t.name), expectedSQL(t, rows), t.keys("t"), s.table(t.name), t.isOneOf("l")))
	})
}

// lockCall locks rows: against changes (SHARE), or for a change of this transaction (UPDATE).
func lockCall(s *statements, t table[row], rows []*row, how string, assert bool) call {
	return shapedCall(s, fmt.Sprint("lock ", how, assert), expectingKeys(t), rows, func(rows source) string {
		return countSQL(assert, rows, "WITH done AS MATERIALIZED ("+lockSQL(s, t, rows, how)+")")
	})
}

func lockSQL(s *statements, t table[row], rows source, how string) string {
	if rows.single() {
		return fmt.Sprintf("SELECT 1 FROM %s t WHERE %s FOR %s", s.table(t.name), expectedSQL(t, rows), how)
	}
	return fmt.Sprintf("SELECT 1 FROM %s JOIN %s t ON %s ORDER BY %s FOR %s OF t",
		rows.from, s.table(t.name), expectedSQL(t, rows), t.keys("t"), how)
}

// removePlaceholdersCall removes placeholders.
func removePlaceholdersCall(s *statements, t table[row], rows []*row) call {
	return shapedCall(s, "clear ", keysOnly(t), rows, func(rows source) string {
		using := ""
		if !rows.single() {
			using = " USING " + rows.from
		}
		return fmt.Sprintf("DELETE FROM %s t%s WHERE %s AND t.rev = 0", s.table(t.name), using, t.is(rows.of))
	})
}

// redactCall replaces lines of events, except for what they follow.
func redactCall(sql *statements, rows []*eventRow) call {
	return call{text: sql.named("redact"), args: []any{
		values(rows, func(e *eventRow) int64 { return e.seq }),
		values(rows, func(e *eventRow) int64 { return e.ord }),
		values(rows, func(e *eventRow) string { return e.line }),
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
		prev := rows.value["prev"]
		if follows := rows.value["follows"]; follows != "NULL::uuid" {
			if rows.single() {
				from = " FROM (SELECT 1) r"
			}
			from += fmt.Sprintf(" LEFT JOIN %s n ON n.id = %s", s.table(names.name), follows)
			prev = "coalesce(n.last_batch || '/' || n.last_ord, " + prev + ")"
		}
		line := prev + " || E'\\t' || " + rows.value["line"]
		if !rows.single() {
			line = "string_agg(" + line + ", E'\\n' ORDER BY " + rows.value["place"] + ")"
			from += " GROUP BY r.first"
			if rows.array["loose"] {
				from += ", r.loose"
			}
		}
		return fmt.Sprintf("INSERT INTO %s (batch, ord, loose, lines) SELECT %s, %s, %s, %s%s",
			s.table("dibs_events"), batch, rows.value["first"], rows.value["loose"], line, from)
	})}
}
