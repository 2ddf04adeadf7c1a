package pgstore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// rig is a store behind a proxy that injects faults, and a direct connection to check the database.
type rig struct {
	testing.TB
	dsn    string // around the proxy
	schema string
	proxy  *pgproxy.Proxy
	store  *pgstore.Store // through the proxy; nil until it is opened
	direct *pgx.Conn
}

// newRig returns a rig with a new schema, which does not exist yet.
func newRig(tb testing.TB) *rig {
	tb.Helper()
	return rigOn(tb, pgtest.Shared(tb).NewSchema(tb))
}

// rigOn returns a rig on a schema, with its own proxy: tests that share a schema do not share faults.
func rigOn(tb testing.TB, schema string) *rig {
	tb.Helper()
	return rigIn(tb, pgtest.Shared(tb).DSN("postgres"), schema)
}

// rigIn returns a rig on a schema of a database of the shared cluster.
func rigIn(tb testing.TB, dsn, schema string) *rig {
	tb.Helper()
	network, addr := pgtest.Shared(tb).SocketAddr()
	return &rig{TB: tb, dsn: dsn, schema: schema, proxy: pgproxy.Start(tb, network, addr), direct: connect(tb, dsn)}
}

// schemaFor creates a schema for several rigs.
func schemaFor(tb testing.TB) string {
	tb.Helper()
	r := newRig(tb)
	r.aside(pgstore.Config{})
	return r.schema
}

// open opens the store through the proxy. The sessions of each rig have their own application_name.
func (r *rig) open(cfg pgstore.Config, params ...string) *rig {
	r.Helper()
	store, err := r.tryOpen(cfg, params...)
	if err != nil {
		r.Fatal(err)
	}
	r.store = store
	r.Cleanup(func() { _ = store.Close() })
	return r
}

func (r *rig) tryOpen(cfg pgstore.Config, params ...string) (*pgstore.Store, error) {
	r.Helper()
	cfg.Schema = r.schema
	dsn := withParam(r.TB, r.proxy.DSN(r.dsn), "application_name", r.sessions())
	for i := 0; i < len(params); i += 2 {
		dsn = withParam(r.TB, dsn, params[i], params[i+1])
	}
	return r.openPatient(dsn, cfg)
}

// openPatient opens a store on which no commit of a rig is [dibs.Busy], unless the test is about that: a busy
// machine may take long for the locks that the server itself needs, to make a table longer for example.
func (r *rig) openPatient(dsn string, cfg pgstore.Config) (*pgstore.Store, error) {
	cfg.LockWait = cmp.Or(cfg.LockWait, 10*time.Second)
	return openPatient(dsn, cfg)
}

func (r *rig) sessions() string { return fmt.Sprintf("rig_%p", r) }

// aside opens the schema again, around the proxy, like another process.
func (r *rig) aside(cfg pgstore.Config) *pgstore.Store {
	r.Helper()
	cfg.Schema = r.schema
	store, err := r.openPatient(r.dsn, cfg)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = store.Close() })
	return store
}

// registry opens a registry on a store; it closes with the test.
func (r *rig) registry(store dibs.Store, cfg dibs.Config) *dibs.Registry {
	r.Helper()
	reg, err := core.Open(store, cfg)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = reg.Close() })
	return reg
}

// calm ends all faults, and waits until the server has processed what they left.
func (r *rig) calm() {
	r.Helper()
	r.proxy.SetHook(nil)
	r.proxy.Refuse(false)
	r.proxy.AwaitServer()
}

// leave closes the store and waits until the server has ended all of its sessions.
func (r *rig) leave() {
	r.Helper()
	if err := r.store.Close(); err != nil {
		r.Fatal(err)
	}
	r.await("the server has ended the sessions", func() bool {
		return ask[int](r, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", r.sessions()) == 0
	})
}

// table returns a table's full name.
func (r *rig) table(name string) string { return pgx.Identifier{r.schema, name}.Sanitize() }

// voids counts the void batches.
func (r *rig) voids() int {
	r.Helper()
	return ask[int](r, "SELECT count(*) FROM "+r.table("dibs_batches")+" WHERE live = -1")
}

// ask runs a query with one value, around the proxy.
func ask[T any](r *rig, question string, args ...any) (answer T) {
	r.Helper()
	if err := r.direct.QueryRow(context.Background(), question, args...).Scan(&answer); err != nil {
		r.Fatalf("%s: %v", question, err)
	}
	return answer
}

// await waits for a condition.
func (r *rig) await(what string, holds func() bool) {
	r.Helper()
	await(r.TB, what, holds)
}

// Matchers of exchanges.
var (
	commits     = pgproxy.SQL(`dibs_batches \(id, stamp, live, counts\)`)
	asksOutcome = pgproxy.SQL(`dibs_batches AS b \(id, stamp, live\)`)
	numbersFeed = pgproxy.SQL(`dibs_head|pg_notify`)
	everything  = func(*pgproxy.Exchange) bool { return true }
)

// counter counts exchanges, and passes them to another hook.
type counter struct {
	match pgproxy.Matcher
	next  pgproxy.Hook
	seen  chan *pgproxy.Exchange
}

// counting returns a counter of the exchanges that match.
func counting(match pgproxy.Matcher, next pgproxy.Hook) *counter {
	return &counter{match: match, next: next, seen: make(chan *pgproxy.Exchange, 10_000)}
}

func (c *counter) hook(x *pgproxy.Exchange) pgproxy.Action {
	if c.match(x) {
		c.seen <- x
	}
	if c.next == nil {
		return pgproxy.Pass()
	}
	return c.next(x)
}

func (c *counter) count() int { return len(c.seen) }

// statementsOf commits groups, and returns the statements of that exchange.
func (r *rig) statementsOf(groups []dibs.Group) []string {
	r.Helper()
	seen := counting(commits, nil)
	r.proxy.SetHook(seen.hook)
	defer r.proxy.SetHook(nil)
	r.mustCommit(groups...)
	return (<-seen.seen).Statements
}

// mustCommit commits groups.
func (r *rig) mustCommit(groups ...dibs.Group) {
	r.Helper()
	outcomes, err := r.store.Commit(context.Background(), groups)
	if err != nil || slices.ContainsFunc(outcomes, func(o dibs.Outcome) bool { return o != dibs.Committed }) {
		r.Fatalf("outcomes %v, %v", outcomes, err)
	}
}

// compare ends the faults, and compares the result of a Commit with the database.
func (r *rig) compare(groups []dibs.Group, outcomes []dibs.Outcome, err error) {
	r.Helper()
	r.calm()
	for i := range groups {
		done := r.committed(&groups[i])
		switch {
		case errors.Is(err, dibs.ErrOutcomeUnknown):
		case err != nil && !errors.Is(err, dibs.ErrUnavailable):
			r.Errorf("the error %v is neither UNAVAILABLE nor OUTCOME_UNKNOWN", err)
		case err != nil && done:
			r.Errorf("group %d is committed, and the error is %v", i, err)
		case err == nil && done != (outcomes[i] == dibs.Committed):
			r.Errorf("group %d has outcome %v, committed: %v", i, outcomes[i], done)
		}
	}
}
