package sqlitestore

import (
	"database/sql/driver"
	"strings"
)

// table is how a record lies in its table: the columns, in the order in which
// rows are written and read.
type table struct {
	name    string
	key     string // the columns that identify a row
	fixed   string // further columns that never change
	columns string
}

var (
	names = table{"dibs_names", "n", "id, namespace, canonical", holdColumns + ", " + rareColumns}
	// holds are names as a first reservation writes them: nothing rare is set, and
	// there is no row to replace.
	holds     = table{name: "dibs_names", columns: holdColumns}
	entities  = table{"dibs_entities", "id", "scope, type, entity_id", `id, rev, scope, type, entity_id, archived, deleted, active, due`}
	documents = table{"dibs_documents", "kind, id", "scope", `kind, id, rev, scope, label, due, data`}
	events    = table{name: "dibs_events", columns: `seq, kind, at, name, prev, rev, body, id, namespace`}
)

const (
	holdColumns = `n, last_event, id, rev, namespace, canonical, value, profile, state, status, epoch, created_at,
		token, principal, expires_at, witnessed, many, counted, quarantine_ms, hold_history_ms, established, due`
	rareColumns = `intended_type, intended_id, correlation_id, meta, asked, ask_at, doubt,
		owner_type, owner_id, owner, confirmed_at, ended_at, line, until, links, spent`
)

func (t table) list() []string {
	list := strings.Split(t.columns, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// upsert makes the batch that stores whole rows. It leaves alone what never
// changes: SQLite would write the indexes on it anew.
func (t table) upsert() *batch {
	list := t.list()
	sets := make([]string, 0, len(list))
	for _, column := range list {
		if !strings.Contains(", "+t.key+", "+t.fixed+",", ", "+column+",") {
			sets = append(sets, column+" = excluded."+column)
		}
	}
	return t.insert(list, " ON CONFLICT ("+t.key+") DO UPDATE SET "+strings.Join(sets, ", "))
}

func (t table) insert(list []string, rest string) *batch {
	return newBatch(func(n int) string {
		row := "(" + places(len(list)) + ")"
		return "INSERT OR FAIL INTO " + t.name + " (" + strings.Join(list, ", ") + ") VALUES " +
			strings.TrimSuffix(strings.Repeat(row+",", n), ",") + rest
	})
}

// The helpers below turn zero values into NULL and back. NULL takes no room, and
// tells a reader with a shell that there is nothing.

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func intOrNull[T ~int64](i T) any {
	if i == 0 {
		return nil
	}
	return int64(i)
}

func bit(b bool) any {
	if b {
		return int64(1)
	}
	return int64(0)
}

func asText(v driver.Value) string {
	s, _ := v.(string)
	return s
}

func asInt(v driver.Value) int64 {
	i, _ := v.(int64)
	return i
}

func asBytes(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}
