package sqlitestore

import (
	"context"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/storetest"
)

// fillNames writes active names of two namespaces, with entities and events, by bulk SQL. Some
// are held, and few are in the other states.
const fillNames = `
	INSERT INTO dibs_names (n, id, rev, namespace, canonical, state, status, epoch, token, expires_at, until, due,
		owner_type, owner_id, owner, witnessed, many, counted, established, last_event)
	WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 40000),
		states AS (SELECT i, CASE i % 1000 WHEN 0 THEN 'held' WHEN 1 THEN 'alias' WHEN 2 THEN 'suspect'
			WHEN 3 THEN 'quarantined' WHEN 4 THEN 'free' ELSE 'active' END AS state FROM numbers)
	SELECT i, randomblob(16), 1, CASE i % 3 WHEN 0 THEN 'acme.slug' ELSE 'beta.slug' END, printf('name-%08x', i * 2654435761 & 0xffffffff), state,
		CASE state WHEN 'held' THEN 'reserved' WHEN 'suspect' THEN 'suspect' WHEN 'quarantined' THEN 'released'
			WHEN 'free' THEN 'released' ELSE 'confirmed' END,
		1, zeroblob(32), i, i, CASE state WHEN 'active' THEN NULL ELSE 1900000000000 + i END,
		'user', i, CASE WHEN state IN ('active', 'alias') THEN randomblob(16) END, 0, 0, 0, 1, i FROM states;
	INSERT INTO dibs_entities (id, rev, type, entity_id, archived, deleted)
		SELECT owner, 1, owner_type, owner_id, 0, 0 FROM dibs_names WHERE owner IS NOT NULL;
	INSERT INTO dibs_events (seq, kind, at, name, rev, body) SELECT n, 'claimed', n, n, 1, x'' FROM dibs_names;
	INSERT INTO dibs_counts SELECT namespace, state, count(*) FROM dibs_names WHERE state <> 'free' GROUP BY 1, 2`

// planner is a runner that looks at the plan of every statement.
type planner struct {
	*session
	tb   testing.TB
	seen map[*statement]bool
}

func (p *planner) query(ctx context.Context, st *statement, args []any, fn func(row []driver.Value) error) error {
	p.check(ctx, st, args)
	return p.session.query(ctx, st, args, fn)
}

func (p *planner) exec(ctx context.Context, st *statement, args ...any) error {
	p.check(ctx, st, args)
	return p.session.exec(ctx, st, args...)
}

// check refuses scans of large tables, unless a page is the beginning of the index on the key; and
// sorting, unless the rows are few: those of a page or of an entity, or held names, which were
// counted before.
func (p *planner) check(ctx context.Context, st *statement, args []any) {
	p.tb.Helper()
	if p.seen[st] {
		return
	}
	p.seen[st] = true
	sorts := st == selectDue || st == selectHistory || st == selectOwned || strings.Contains(st.text(), "INDEXED BY dibs_names_held WHERE state = 'held'")
	err := p.session.query(ctx, newStatement("EXPLAIN QUERY PLAN "+st.text()), args, func(row []driver.Value) error {
		step := strings.Replace(asText(row[3]), " COVERING INDEX ", " INDEX ", 1)
		table, isScan := strings.CutPrefix(step, "SCAN ")
		table, index, _ := strings.Cut(table, " USING INDEX ")
		switch table {
		case "dibs_names", "dibs_entities", "dibs_documents", "dibs_events", "e", "n":
			walks := index == "dibs_names_key" && !strings.Contains(st.text(), "canonical <") && !strings.Contains(st.text(), "canonical >")
			isScan = isScan && index != "dibs_names_held" && !walks
		default:
			isScan = false
		}
		// Sorting all held names must not read their rows.
		readsHolds := strings.Contains(st.text(), "(SELECT n FROM") && strings.Contains(asText(row[3]), " USING INDEX dibs_names_held")
		if isScan || readsHolds || (strings.Contains(step, "TEMP B-TREE") && !sorts) || strings.Contains(step, "AUTOMATIC") {
			p.tb.Errorf("%s\n%s", step, st.text())
		}
		return nil
	})
	if err != nil {
		p.tb.Errorf("%v\n%s", err, st.text())
	}
}

// Every call of the contract finds its rows by an index, whatever the number of names.
func TestPlans(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newTest(t)
	conn, err := s.writer.take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.writer.put(conn)
	if err := conn.script(ctx, "BEGIN;"+fillNames+";COMMIT"); err != nil {
		t.Fatal(err)
	}
	plans := &planner{conn, t, make(map[*statement]bool)}
	q := queries{testClock, func(_ context.Context, fn func(runner) error) error { return fn(plans) }}
	planReads(t, &q)
	planLists(t, &q)
	planCommits(t, plans)
	if len(plans.seen) < 40 {
		t.Errorf("only %d statements ran", len(plans.seen))
	}
}

func planReads(t *testing.T, q *queries) {
	t.Helper()
	ctx, owner := t.Context(), dibs.Entity{Type: "user", ID: "1"}
	for _, query := range []dibs.EventQuery{{Limit: 10}, {Limit: 10, After: "7"}, {Limit: 10, Name: dibs.ID{1}}} {
		if _, err := q.Events(ctx, query); err != nil {
			t.Error(err)
		}
	}
	if _, err := q.Due(ctx, 10); err != nil {
		t.Error(err)
	}
	if _, err := q.Owned(ctx, "acme", owner, 10); err != nil {
		t.Error(err)
	}
	if stats, err := q.Count(ctx, testNow); err != nil || len(stats.Names) != 10 {
		t.Errorf("%+v, %v", stats, err)
	}
	err := q.read(ctx, func(run runner) error {
		_, err := readInt(ctx, run, selectLastSeq)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func planLists(t *testing.T, q *queries) {
	t.Helper()
	for _, query := range storetest.ListQueries(1, "acme.slug", "beta.slug") {
		if list, err := q.List(t.Context(), query); err != nil || len(list) != query.Limit {
			t.Errorf("%+v: %d names, %v", query, len(list), err)
		}
	}
	for _, query := range []dibs.ListQuery{{}, {From: "a", To: "b"}, {After: &dibs.ListPosition{Label: "a"}}} {
		query.Kind, query.Limit = dibs.KindTally, 3
		if _, err := q.List(t.Context(), query); err != nil {
			t.Error(err)
		}
	}
}

// planCommits plans loads and commits that insert, update, renew and delete records of every kind.
func planCommits(t *testing.T, run *planner) {
	t.Helper()
	ctx, owner := t.Context(), dibs.Entity{Type: "user", ID: "new"}
	held, name := heldName("held"), activeName("new", owner)
	entity := &dibs.EntityRecord{ID: dibs.EntityID("acme", owner), Rev: 1, Scope: "acme", Entity: owner}
	document := &dibs.Document{Kind: "kind", ID: dibs.ID{1}, Rev: 1, Label: "label"}
	records := []dibs.Record{held, name, entity, document}
	commit := func(rev uint64, change func(*dibs.Write)) {
		g := dibs.Group{Events: []dibs.Event{eventOf(dibs.EventClaimed, name), eventOf(dibs.EventClaimed, heldName("stray"))}}
		for _, record := range records {
			w := dibs.Write{Record: record}
			change(&w)
			g.Reads, g.Writes = append(g.Reads, dibs.Read{Ref: record.Ref(), Rev: rev}), append(g.Writes, w)
		}
		g.Redacts = []dibs.Event{{Cursor: "7"}}
		outcomes, _, err := apply(ctx, run, func() dibs.Instant { return testNow }, []dibs.Group{g}, nil)
		if err != nil || outcomes[0] != dibs.Committed {
			t.Fatal(outcomes, err)
		}
	}
	commit(0, func(*dibs.Write) {})
	commit(1, func(w *dibs.Write) { w.Yields = w.Record.Ref().Kind == dibs.KindName })
	commit(1, func(w *dibs.Write) { w.Renew = true })
	if records, err := loadRefs(ctx, run, []dibs.Ref{held.Ref(), name.Ref(), entity.Ref(), document.Ref()}, true); err != nil || len(records) != 4 {
		t.Errorf("%d records, %v", len(records), err)
	}
	if records, err := loadRefs(ctx, run, make([]dibs.Ref, 300), true); err != nil || len(records) != 0 {
		t.Errorf("%d records, %v", len(records), err)
	}
	commit(1, func(w *dibs.Write) { w.Delete = true })
}
