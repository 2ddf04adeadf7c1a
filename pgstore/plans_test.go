package pgstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/storetest"
)

// fillNames writes names with entities and events by bulk SQL. Each namespace has one state that
// nearly all of its names are in, and few names in each of the others. More than 10,000 are held.
var fillNames = []string{
	`CREATE TEMP TABLE filled AS
		SELECT i, md5('name ' || i)::uuid AS id, md5('entity ' || i)::uuid AS owner, md5('batch ' || i / 8)::uuid AS batch,
			(ARRAY['acme.slug', 'beta.slug', 'gamma.slug'])[i % 3 + 1] AS namespace,
			(ARRAY['held', 'alias', 'suspect', 'quarantined', 'free', 'active', 'active', 'held', 'free'])[CASE WHEN i / 3 % 1000 < 6 THEN i / 3 % 1000 ELSE 6 + i % 3 END + 1] AS state
		FROM generate_series(0, 39999) AS i`,
	`INSERT INTO {schema}.dibs_name_rows (id, rev, stamp, due, expires_at, until, last_ord, many, state, namespace, canonical, last_batch, owner, token, detail)
		SELECT id, 1, 1, CASE state WHEN 'active' THEN NULL ELSE 4000000000000 + i END, 4000000000000 + i, 4000000000000 + i, i % 8, false, state, namespace,
			'name-' || lpad(to_hex(i::bigint * 2654435761 & 4294967295), 8, '0'), batch, CASE WHEN state IN ('active', 'alias') THEN owner END,
			decode(repeat('00', 32), 'hex'), E'\texact/1\t' || CASE state WHEN 'held' THEN 'reserved' WHEN 'suspect' THEN state WHEN 'active' THEN 'confirmed'
			WHEN 'alias' THEN 'confirmed' ELSE 'released' END || E'\t1\t1' FROM filled`,
	`INSERT INTO {schema}.dibs_entities (id, rev, stamp, archived, deleted, type, entity_id) SELECT owner, 1, 1, false, false, 'filler', i::text FROM filled`,
	`INSERT INTO {schema}.dibs_events (batch, ord, lines)
		SELECT batch, 0, string_agg(concat_ws(E'\t', '', 'claimed', i, 1, replace(id::text, '-', ''), namespace, '{}'), E'\n' ORDER BY i) FROM filled GROUP BY batch`,
	`INSERT INTO {schema}.dibs_batches (id, stamp, seq, live) SELECT batch, min(i), min(i) / 8 + 1, 8 FROM filled GROUP BY batch`,
	`UPDATE {schema}.dibs_head SET seq = 5000`,
	`INSERT INTO {schema}.dibs_counts SELECT namespace, state, count(*) FROM filled WHERE state <> 'free' GROUP BY 1, 2`,
	`INSERT INTO {schema}.dibs_documents (kind, id, rev, due, label) SELECT 'filler', id, 1, 4000000000000 + i, i::text FROM filled`,
}

// filledDatabase is a database of the shared cluster with many names, and without statistics of its
// tables. To copy it is much faster than to fill another one.
const filledDatabase = "filled"

var fillDatabase sync.Once

// newFilledRig returns a rig on a copy of the filled database.
func newFilledRig(tb testing.TB) *rig {
	tb.Helper()
	fillDatabase.Do(func() { fillNewDatabase(tb, pgtest.Shared(tb)) })
	return rigIn(tb, pgtest.Shared(tb).CopyDatabase(tb, filledDatabase), filledDatabase)
}

func fillNewDatabase(tb testing.TB, cluster *pgtest.Cluster) {
	tb.Helper()
	list := fillNames
	for _, table := range largeTables {
		list = append(list, "ALTER TABLE {schema}."+table+" SET (autovacuum_enabled = false)")
	}
	if _, err := connect(tb, cluster.DSN("postgres")).Exec(tb.Context(), "CREATE DATABASE "+filledDatabase); err != nil {
		tb.Fatal(err)
	}
	dsn := cluster.DSN(filledDatabase)
	if err := pgstore.Migrate(tb.Context(), dsn, pgstore.Config{Schema: filledDatabase}); err != nil {
		tb.Fatal(err)
	}
	conn := connect(tb, dsn)
	for _, statement := range list {
		if _, err := conn.Exec(tb.Context(), strings.ReplaceAll(statement, "{schema}", filledDatabase)); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
	if err := conn.Close(tb.Context()); err != nil { // a database in use cannot be copied
		tb.Fatal(err)
	}
}

var largeTables = []string{"dibs_name_rows", "dibs_entities", "dibs_documents", "dibs_batches", "dibs_events"}

func (r *rig) inSchema(statement string) string {
	return strings.ReplaceAll(statement, "{schema}", pgx.Identifier{r.schema}.Sanitize())
}

// explain opens a connection whose plans are read.
func (r *rig) explain(plans *planReader) *pgx.Conn {
	r.Helper()
	dsn := r.dsn
	for i := 0; i < len(explained); i += 2 {
		dsn = withParam(r, dsn, explained[i], explained[i+1])
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		r.Fatal(err)
	}
	config.Tracer = plans
	conn, err := pgx.ConnectConfig(context.Background(), config)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// planReader checks the plan of every statement of its sessions: the plan that the server ran, with
// the rows that each step of it has read. The module auto_explain sends it as a notice.
type planReader struct {
	testing.TB
	most float64 // rows that a step may read
	mu   sync.Mutex
	seen []string // statements
}

// mostRows is how many rows a step of a plan may read here: some pages, and far fewer than there are.
// Behind a pooler every statement is planned for its arguments: a plan that knows that few rows are
// left sorts all of them.
const mostRows, mostRowsPooled = 600, 1000

// explained are the settings of a session that sends plans.
var explained = []string{
	"session_preload_libraries", "auto_explain", "auto_explain.log_min_duration", "0", "auto_explain.log_analyze", "on",
	"auto_explain.log_timing", "off", "auto_explain.log_format", "json", "auto_explain.log_level", "notice",
}

func (p *planReader) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (p *planReader) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (p *planReader) TraceConnectStart(ctx context.Context, data pgx.TraceConnectStartData) context.Context {
	next := data.ConnConfig.OnNotice
	data.ConnConfig.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		if _, text, ok := strings.Cut(notice.Message, "plan:\n"); ok {
			p.check(text)
		} else if next != nil {
			next(conn, notice)
		}
	}
	return ctx
}

func (p *planReader) TraceConnectEnd(context.Context, pgx.TraceConnectEndData) {}

// plan is a step of a plan.
type plan struct {
	Node     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Rows     float64 `json:"Actual Rows"` // of one loop
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Joined   float64 `json:"Rows Removed by Join Filter"`
	Rechecks float64 `json:"Rows Removed by Index Recheck"`
	Plans    []*plan `json:"Plans"`
}

// check refuses a plan that reads a large table without an index, or more rows than a page needs.
func (p *planReader) check(text string) {
	p.Helper()
	var read struct {
		Query string `json:"Query Text"`
		Plan  *plan  `json:"Plan"`
	}
	if err := json.Unmarshal([]byte(text), &read); err != nil || read.Plan == nil {
		p.Errorf("%v: %s", err, text)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, read.Query)
	if problem := read.Plan.problem(p.most); problem != "" {
		p.Errorf("%s\n%s\n%s", problem, read.Query, text)
	}
}

func (n *plan) problem(most float64) string {
	rows := (n.Rows + n.Filtered + n.Joined + n.Rechecks) * n.Loops
	small := n.Relation == "dibs_head" || n.Relation == "dibs_counts"
	switch {
	case n.Node == "Seq Scan" && strings.HasPrefix(n.Relation, "dibs_") && !small && n.Loops > 0:
		return "a scan of " + n.Relation
	case rows > most:
		return fmt.Sprintf("%s of %s %s reads %v rows", n.Node, n.Relation, n.Index, rows)
	}
	for _, part := range n.Plans {
		if problem := part.problem(most); problem != "" {
			return problem
		}
	}
	return ""
}

// has reports whether a statement with this text ran.
func (p *planReader) has(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, seen := range p.seen {
		if strings.Contains(seen, text) {
			return true
		}
	}
	return false
}

// Every statement of the store finds its rows by an index, whatever the number of names, and whether
// the server has statistics of the tables or not.
func TestPlans(t *testing.T) {
	sequential(t)
	t.Parallel()
	// The server explains no statement that changes a table.
	sessions := []string{"add fence", "drop fence", "settings of a transaction"}
	transactions := []string{"add fence", "drop fence", "settings", "notify"}
	for name, c := range map[string]struct {
		statistics bool
		pooling    bool
		unused     []string
	}{
		"without statistics":                   {false, false, sessions},
		"with statistics":                      {true, false, sessions},
		"pooled transactions":                  {false, true, transactions},
		"pooled transactions, with statistics": {true, true, transactions},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFilledRig(t)
			if c.statistics {
				r.exec("ANALYZE")
			}
			plans := &planReader{TB: t, most: mostRows}
			if c.pooling {
				plans.most = mostRowsPooled
			}
			clock := r.newClock()
			r.open(pgstore.Config{ClockSQL: clock.sql, Tracer: plans, TransactionPooling: c.pooling}, explained...)
			r.planContract()
			r.planVerbs(t, plans, clock)
			pgstore.Purge(r.store)
			if err := errors.Join(r.store.Fence(t.Context(), "elsewhere"), r.store.Unfence(t.Context())); err != nil {
				t.Error(err)
			}
			for name, text := range pgstore.StatementTexts(r.store) {
				if text, _, _ = strings.Cut(text, "{"); plans.has(text) == slices.Contains(c.unused, name) {
					t.Errorf("the statement %q ran: %t; one that did not needs a case here", name, plans.has(text))
				}
			}
		})
	}
}

// recorder keeps the errors of a test.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// The test of plans finds a scan, and an index that is read for more than a page.
func TestPlansAreRefused(t *testing.T) {
	sequential(t)
	t.Parallel()
	r := newFilledRig(t)
	found := &recorder{TB: t}
	conn := r.explain(&planReader{TB: found, most: mostRows})
	for statement, want := range map[string]string{
		"SELECT count(*) FROM {schema}.dibs_name_rows WHERE detail = 'x'":                                  "a scan of dibs_name_rows",
		"SELECT count(*) FROM {schema}.dibs_name_rows WHERE state = 'held' AND detail = 'x'":               "dibs_names_",
		"SELECT * FROM {schema}.dibs_name_rows WHERE state = 'held' ORDER BY namespace, canonical LIMIT 3": "",
	} {
		found.errors = nil
		if _, err := conn.Exec(context.Background(), r.inSchema(statement)); err != nil {
			t.Fatal(err)
		}
		if len(found.errors) > 1 || (want == "") != (len(found.errors) == 0) || want != "" && !strings.Contains(found.errors[0], want) {
			t.Errorf("%s: found %v, want %q", statement, found.errors, want)
		}
	}
}

// planContract calls each method of the contract that reads.
func (r *rig) planContract() {
	r.Helper()
	ctx := context.Background()
	first := dibs.NameRecord{ID: ask[[16]byte](r, "SELECT id FROM "+r.table("dibs_names")+" WHERE namespace = 'acme.slug' AND state = 'active' LIMIT 1")}
	refs := []dibs.Ref{first.Ref(), {Kind: dibs.KindEntity, ID: dibs.ID{1}}, {Kind: "filler", ID: dibs.ID{1}}}
	cases := map[string]func() error{
		"Load":  func() error { _, err := r.store.Load(ctx, refs); return err },
		"Await": func() error { return r.store.Await(ctx, refs, 1) },
		"Due":   func() error { _, err := r.store.Due(ctx, 10); return err },
		"Owned": func() error { _, err := r.store.Owned(ctx, "", user("1"), 10); return err },
		"Count": func() error { _, err := r.store.Count(ctx, 1); return err },
		"List":  func() error { return r.planLists(r.store) },
		"Events": func() error {
			for _, query := range []dibs.EventQuery{{Limit: 10}, {Limit: 10, After: "4000-3"}, {Limit: 10, Name: first.ID}, {Limit: 10, Name: first.ID, After: "4000-3"}} {
				if _, err := r.store.Events(ctx, query); err != nil {
					return err
				}
			}
			return nil
		},
		"Latest": func() error { _, err := r.store.Latest(ctx); return err },
		"Commit": func() error { r.planCommits(); return nil },
		"Close":  func() error { return nil }, // it reads nothing
	}
	for method := range reflect.TypeFor[dibs.Store]().Methods() {
		call, ok := cases[method.Name]
		if !ok {
			r.Errorf("no plan of %s: it needs a case here", method.Name)
			continue
		}
		if err := call(); err != nil {
			r.Errorf("%s: %v", method.Name, err)
		}
	}
	r.store.Diagnose(ctx)
	if err := r.planSnapshot(); err != nil {
		r.Errorf("Snapshot: %v", err)
	}
}

// planSnapshot reads two pages of each table and of the feed.
func (r *rig) planSnapshot() error {
	ctx := context.Background()
	if _, err := r.store.StartAfter(ctx, "1-0"); err != nil {
		return err
	}
	view, err := r.store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	const twoPages = 700
	for _, table := range snapshot.Tables {
		n := 0
		for _, err := range view.Records(ctx, table) {
			if n++; err != nil || n == twoPages {
				break
			}
		}
		if n != twoPages {
			return fmt.Errorf("%d %s", n, table)
		}
	}
	for _, err := range view.Events(ctx, view.Latest()) {
		return fmt.Errorf("an event behind the end: %w", err)
	}
	n := 0
	for _, err := range view.Events(ctx, "4900-3") {
		if n++; err != nil {
			return err
		}
	}
	if n < twoPages {
		return fmt.Errorf("%d events", n)
	}
	return nil
}

// planLists lists names by all kinds of queries, in the states that lists of the registry ask for.
func (r *rig) planLists(store dibs.Store) error {
	for _, query := range append(storetest.ListQueries(3, "beta.slug", "acme.slug", "gamma.slug"), dibs.ListQuery{Kind: dibs.KindName, DueBefore: math.MaxInt64, Limit: 3}) {
		list, err := store.List(context.Background(), query)
		if err != nil || len(list) != query.Limit {
			return fmt.Errorf("%+v: %d names, %w", query, len(list), err)
		}
	}
	for _, query := range []dibs.ListQuery{{}, {From: "1", To: "2"}, {After: &dibs.ListPosition{Label: "1"}}} {
		query.Kind, query.Limit = "filler", 3
		if _, err := store.List(context.Background(), query); err != nil {
			return err
		}
	}
	return nil
}

// planCommits inserts, updates, renews, redacts and deletes records of every kind, one and several,
// and loses the answer to a commit.
func (r *rig) planCommits() {
	r.Helper()
	var create, change, renew, remove []dibs.Group
	for i := range 3 {
		n := ownedName(fmt.Sprint("planned-", i), user(fmt.Sprint("planned-", i)))
		alias := next(n, func(n *dibs.NameRecord) { n.State = dibs.Alias })
		again := next(alias, func(n *dibs.NameRecord) { n.State = dibs.Active })
		e, d := entityRecord(n.Owner), document(n.Canonical)
		create = append(create, creating(n, e, d))
		g := group(yielding(n, alias), event(dibs.EventDemoted, alias), reading(e), reading(d))
		g.Redacts = []dibs.Event{{Cursor: "4000-3"}}
		change = append(change, g)
		g = group(replacing(alias, again), event(dibs.EventClaimed, again))
		g.Writes[0].Renew = true
		renew = append(renew, g)
		remove = append(remove, group(deleting(again), deleting(e), deleting(d)))
	}
	for _, groups := range [][]dibs.Group{create, change, renew, remove} {
		r.mustCommit(groups[0])
		r.mustCommit(groups[1:]...)
	}
	r.proxy.SetHook(pgproxy.Once(commits, pgproxy.CutAfter()))
	r.mustCommit(reserving("planned"), reserving("planned too"))
	r.calm()
}

// planVerbs calls all verbs of a registry, also in transactions of a caller.
func (r *rig) planVerbs(t *testing.T, plans *planReader, clock *sequenceClock) {
	t.Helper()
	reg := r.registry(r.store, dibs.Config{Policies: map[string]dibs.Policy{
		"slug":  {HoldHistory: 10 * time.Second, MaxHolds: 100, Quarantine: time.Second},
		"crowd": {HoldHistory: 10 * time.Second},
		"email": {ManyPerEntity: true, AliasRetention: time.Second},
		"shop":  {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return dibs.Absent, nil }},
	}})
	w := &workload{T: t, rig: r, reg: reg, clock: clock}
	w.ownNames()
	w.holdNames()
	w.readAll()
	w.crowd(20)
	w.ok(pgx.BeginFunc(context.Background(), r.explain(plans), func(tx pgx.Tx) error {
		w.inside(tx, "inside")
		return r.planLists(pgstore.TxStore(r.store, tx))
	}))
	w.sweepAll()
}
