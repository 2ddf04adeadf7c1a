package pgstore

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/calldibs/dibs"
)

// fresh is the groups of a transaction of which each inserts one name and nothing
// else: most reservations. They are one statement, which is a transaction by
// itself, and each of them succeeds or is stale on its own.
type fresh struct {
	changes
	groups   []int // places in the Commit's list
	inserted map[uuid]bool
}

// isFresh reports whether all that a group does is to insert one name, with the one
// event that begins its history, and all it rests on besides are documents.
func isFresh(g *dibs.Group) bool {
	if len(g.Writes) != 1 || len(g.Events) != 1 || len(g.Redacts) != 0 || g.Writes[0].Delete {
		return false
	}
	ref := g.Writes[0].Record.Ref()
	if ref.Kind != dibs.KindName || g.Events[0].ID != ref.ID {
		return false
	}
	for i := range g.Reads {
		switch r := &g.Reads[i]; {
		case r.Ref.ID == ref.ID && r.Ref.Kind == ref.Kind:
			if r.Rev != 0 {
				return false
			}
		case r.Ref.Kind == dibs.KindName || r.Ref.Kind == dibs.KindEntity:
			return false
		}
	}
	return true
}

func (f *fresh) add(place int, g *dibs.Group) error {
	f.groups = append(f.groups, place)
	return f.changes.add(g)
}

// call returns the statement that is the whole commit: it keeps the documents that
// the decisions rest on as they are, inserts the names that are absent, with their
// events and the batch, and checks the window after that. Its result is the names
// that were inserted, and the time.
func (f *fresh) call(sql *statements) call {
	f.chain()
	f.sort()
	shape, args := names.shape(f.names.insert)
	told, toldArgs := events.shape(f.events)
	args = append(args, toldArgs...)
	docs, keys := "", documents.expectingKeys()
	if len(f.documents.share) > 0 {
		var docArgs []any
		docs, docArgs = keys.shape(f.documents.share)
		args = append(args, docArgs...)
	}
	args = append(args, f.batch, f.stamp, int64(f.window.From), int64(f.window.Before))
	text := sql.shaped.get("fresh "+shape+told+docs, func() string { return freshText(sql, shape, told, docs) })
	return call{text: text, args: args, scan: f.scan}
}

func freshText(sql *statements, shape, toldShape, docShape string) string {
	var p params
	rows, told := names.source(&p, shape), events.source(&p, toldShape)
	kept, where := "", ""
	if docShape != "" {
		docs := documents.expectingKeys().source(&p, docShape)
		kept = "kept AS MATERIALIZED (" + lockText(sql, documents, docs, "SHARE") + "),"
		where = " WHERE (SELECT count(*) FROM kept) = " + docs.count
	}
	batch, stamp, from, before := p.next("uuid"), p.next("bigint"), p.next("bigint"), p.next("bigint")
	tell := " FROM done"
	if !rows.single() {
		// Not a join: it would be a nested loop, and the names are many. This is one
		// look into a table of hashes for each.
		tell = " FROM " + told.from + " WHERE (r.name IN (SELECT id FROM done)) IS TRUE"
	}
	return fmt.Sprintf(`WITH %s
		done AS (%s ON CONFLICT (id) DO NOTHING RETURNING id),
		told AS (INSERT INTO %s (batch, %s) SELECT %s, %s%s RETURNING 1),
		closed AS (INSERT INTO %s (id, stamp, live) SELECT %s, %s, (SELECT count(*) FROM told) WHERE EXISTS (SELECT 1 FROM done))
		SELECT ids, %s FROM (SELECT ids, %s AS now FROM (SELECT array_agg(id) AS ids FROM done) d) c`,
		kept,
		insertText(sql, names, rows, where),
		sql.table("dibs_events"), events.list(), batch, events.values(told), tell,
		sql.table("dibs_batches"), batch, stamp,
		sure(fmt.Sprintf("c.now >= %s AND (%s = 0 OR c.now < %s)", from, before, before), "c.now", "c.now"), sql.clock)
}

func (f *fresh) scan(row scanner) error {
	var inserted pgtype.FlatArray[uuid]
	if err := row.Scan(&inserted, &f.now); err != nil {
		return err
	}
	f.inserted = make(map[uuid]bool, len(inserted))
	for _, id := range inserted {
		f.inserted[id] = true
	}
	return nil
}

// outcomes notes what became of each group.
func (f *fresh) outcomes(groups []dibs.Group, outcomes []dibs.Outcome) {
	for _, place := range f.groups {
		outcomes[place] = dibs.Stale
		if f.inserted[uuid(groups[place].Writes[0].Record.Ref().ID)] {
			outcomes[place] = dibs.Committed
		}
	}
}
