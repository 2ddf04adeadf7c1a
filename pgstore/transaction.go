package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/calldibs/dibs"
)

// transaction is one attempt to commit groups.
type transaction struct {
	indexes       []int // of all groups; they commit or fail together
	shortLockWait bool

	// newNames are the groups that only insert one name each: most reservations. One statement
	// commits them all, and each group is committed or stale on its own. general are all others.
	newNames, general *changes
}

func (c *commitCall) transaction(indexes []int) (*transaction, error) {
	t := &transaction{indexes: indexes, shortLockWait: c.searching()}
	for _, i := range indexes {
		g := &c.groups[i]
		part := &t.general
		if isNewName(g) {
			part = &t.newNames
		}
		if *part == nil {
			*part = c.store.newChanges()
		}
		if err := (*part).add(g); err != nil {
			return nil, err
		}
	}
	return t, nil
}

const setShortLockWait = "SET LOCAL lock_timeout = '2ms'"

// run runs the transaction in one round trip.
func (t *transaction) run(ctx context.Context, conn *pgx.Conn, sql *statements) error {
	if t.general == nil && !t.shortLockWait {
		return pipeline(ctx, conn, sql.withSettings([]call{t.newNames.newNamesCall(sql)})...)
	}
	calls := []call{{text: "BEGIN"}}
	if t.shortLockWait {
		calls = append(calls, call{text: setShortLockWait})
	}
	if t.general != nil {
		t.general.sort()
		t.general.chain()
		calls = append(calls, t.general.calls(sql)...)
	}
	if t.newNames != nil {
		calls = append(calls, t.newNames.newNamesCall(sql))
	}
	return pipeline(ctx, conn, sql.withSettings(append(calls, call{text: "COMMIT"}))...)
}

// accept notes the outcomes of a committed transaction.
func (c *commitCall) accept(t *transaction) {
	for _, i := range t.indexes {
		g := &c.groups[i]
		c.outcomes[i] = dibs.Committed
		if isNewName(g) && !t.newNames.inserted[uuid(g.Events[0].ID)] {
			c.outcomes[i] = dibs.Stale
		}
		c.committed = c.committed || c.outcomes[i] == dibs.Committed
		c.store.locked.remove(g)
	}
	for _, part := range []*changes{t.general, t.newNames} {
		if part != nil {
			c.store.clock.learn(part.now)
		}
	}
}

// isNewName reports whether a group only inserts one name with the first event of its history,
// and reads no other records than documents.
func isNewName(g *dibs.Group) bool {
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

// newNamesCall returns the statement that is the whole commit of new names: it locks the documents
// that the decisions rest on, inserts the names that are absent with their events and the batch,
// and then checks the window. It returns the inserted names and the time.
func (c *changes) newNamesCall(sql *statements) call {
	c.chain()
	c.sort()
	shape, args := names.shape(c.names.insert)
	ords, lines := c.eventLines()
	if len(c.names.insert) == 1 {
		args = append(args, lines[0], c.encodeCounts())
	} else {
		args = append(args, ords, lines)
	}
	docShape, keys := "", expectingKeys(documents)
	if len(c.documents.share) > 0 {
		var docArgs []any
		docShape, docArgs = keys.shape(c.documents.share)
		args = append(args, docArgs...)
	}
	args = append(args, c.batch, c.stamp, int64(c.window.From), int64(c.window.Before))
	text := sql.shaped.get("new names "+shape+docShape, func() string { return newNamesSQL(sql, shape, docShape) })
	return call{text: text, args: args, scan: c.scanInserted}
}

// eventLines returns rows of dibs_events, of events that begin their histories.
func (c *changes) eventLines() (ords pgtype.FlatArray[int64], rows pgtype.FlatArray[string]) {
	var lines []byte
	for part := range slices.Chunk(c.events, eventsPerRow) {
		lines = lines[:0]
		for _, e := range part {
			lines = append(append(append(lines, '\t'), e.line...), '\n')
		}
		ords, rows = append(ords, part[0].first), append(rows, string(lines[:len(lines)-1]))
	}
	return ords, rows
}

func newNamesSQL(sql *statements, shape, docShape string) string {
	var p params
	rows := names.source(&p, shape)
	name, fill := "new names", []string{"{rows}", rows.count}
	if rows.single() {
		name = "new name"
		fill = append(fill, "{event}", p.next("text"), "{counts}", p.next("text"))
	} else {
		fill = append(fill, "{ords}", p.next("bigint[]"), "{lines}", p.next("text[]"))
	}
	locked, where := "", ""
	if docShape != "" {
		docs := expectingKeys(documents).source(&p, docShape)
		locked = "kept AS MATERIALIZED (" + lockSQL(sql, documents, docs, "SHARE") + "),"
		where = " WHERE (SELECT count(*) FROM kept) = " + docs.count
		if rows.single() && docs.single() {
			where = " FROM kept"
		}
	}
	batch, stamp, from, before := p.next("uuid"), p.next("bigint"), p.next("bigint"), p.next("bigint")
	return strings.NewReplacer(append(fill, "{locked}", locked, "{insert}", insertSQL(sql, names, rows, where), "{batch}", batch, "{stamp}", stamp,
		"{within}", assertSQL(fmt.Sprintf("c.now >= %s AND (%s = 0 OR c.now < %s)", from, before, before), "c.now", "c.now"))...).Replace(sql.named(name))
}

func (c *changes) scanInserted(row scanner) error {
	var inserted pgtype.FlatArray[uuid]
	if err := row.Scan(&inserted, &c.now); err != nil {
		return err
	}
	c.inserted = make(map[uuid]bool, len(inserted))
	for _, id := range inserted {
		c.inserted[id] = true
	}
	return nil
}
