package sqlitestore

import (
	"database/sql/driver"
	"strings"

	"github.com/calldibs/dibs"
)

// table describes a table: its columns in the order in which rows are written and read.
type table struct {
	name    string
	key     string // the columns that identify a row
	fixed   string // further columns that never change
	columns string
}

var (
	names = table{"dibs_names", "n", "id, namespace, canonical", holdColumns + ", " + rareColumns}
	// newHolds is the table of names for a first reservation: it leaves out the columns that
	// are rarely set, and there is no row to replace.
	newHolds  = table{name: "dibs_names", columns: holdColumns}
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

// upsert returns the batch that stores whole rows. It does not set columns that never
// change: SQLite would rewrite their indexes.
func (t table) upsert() *batch {
	var sets []string
	for _, column := range t.list() {
		if !strings.Contains(", "+t.key+", "+t.fixed+",", ", "+column+",") {
			sets = append(sets, column+" = excluded."+column)
		}
	}
	return t.insert(" ON CONFLICT (" + t.key + ") DO UPDATE SET " + strings.Join(sets, ", "))
}

func (t table) insert(rest string) *batch {
	list := t.list()
	return newBatch(func(n int) string {
		row := "(" + params(len(list)) + ")"
		return "INSERT OR FAIL INTO " + t.name + " (" + strings.Join(list, ", ") + ") VALUES " +
			strings.TrimSuffix(strings.Repeat(row+",", n), ",") + rest
	})
}

// recordTable has the statements for the records of a table.
type recordTable struct {
	scan               func(row []driver.Value) (dibs.Record, error)
	load, revs, remove *batch
	byKind             bool // the kind is the first parameter of the statements
}

func newRecordTable(t table, scan func([]driver.Value) (dibs.Record, error), further, where string) *recordTable {
	return &recordTable{
		scan: scan, byKind: strings.Contains(where, "kind"),
		load:   in("SELECT " + t.columns + " FROM " + t.name + where),
		revs:   in("SELECT id, rev, " + further + " FROM " + t.name + where),
		remove: in("DELETE FROM " + t.name + where),
	}
}

var (
	nameTable     = newRecordTable(names, scanName, "n, last_event", " WHERE id")
	entityTable   = newRecordTable(entities, scanEntity, "0, 0", " WHERE id")
	documentTable = newRecordTable(documents, scanDocument, "0, 0", " WHERE kind = ? AND id")
)

func tableOf(kind dibs.Kind) *recordTable {
	switch kind {
	case dibs.KindName:
		return nameTable
	case dibs.KindEntity:
		return entityTable
	default:
		return documentTable
	}
}

// idsByKind is a list of records by kind. There are few kinds.
type idsByKind []struct {
	kind dibs.Kind
	ids  []dibs.ID
}

func (l *idsByKind) add(kind dibs.Kind, id dibs.ID) {
	for i := range *l {
		if (*l)[i].kind == kind {
			(*l)[i].ids = append((*l)[i].ids, id)
			return
		}
	}
	*l = append(*l, struct {
		kind dibs.Kind
		ids  []dibs.ID
	}{kind, []dibs.ID{id}})
}

// each calls fn with statements of the chosen batch, and their arguments, for all records.
func (l idsByKind) each(choose func(*recordTable) *batch, fn func(kind dibs.Kind, st *statement, args []any) error) error {
	for _, w := range l {
		table := tableOf(w.kind)
		var first []any
		if table.byKind {
			first = []any{string(w.kind)}
		}
		err := choose(table).each(first, w.ids, func(st *statement, args []any) error { return fn(w.kind, st, args) })
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls fn with statements of the batch for all ids. Their arguments are first and the ids;
// the last id is repeated up to the size of the statement.
func (b *batch) each(first []any, ids []dibs.ID, fn func(st *statement, args []any) error) error {
	for len(ids) > 0 {
		part := ids[:min(len(ids), maxBatch)]
		ids = ids[len(part):]
		st, size := b.fitting(len(part))
		args := append(make([]any, 0, len(first)+size), first...)
		for i := range part {
			args = append(args, part[i][:])
		}
		for range size - len(part) {
			args = append(args, args[len(args)-1])
		}
		if err := fn(st, args); err != nil {
			return err
		}
	}
	return nil
}
