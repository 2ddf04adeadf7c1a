//go:build unix

package linear_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/linear"
	"github.com/calldibs/dibs/internal/lineartest"
	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// database is a PostgreSQL server behind proxies, with the faults that can be injected
// into it.
type database struct {
	*testing.T
	cluster *pgtest.Cluster
	proxies []*pgproxy.Proxy
	faulty  atomic.Bool
}

// Several stores on one database. Connections are cut, statements and commits fail, answers
// to a COMMIT are lost, sessions are terminated, and the server is killed and restarted.
func TestHistoriesOnPostgres(t *testing.T) {
	t.Parallel()
	d, regs := newDatabase(t)
	lineartest.Run(t, "on PostgreSQL", linear.Site{Registries: regs, Patience: time.Second, Concurrent: 6, Fault: d.inject}, lineartest.Count(t, 12))
}

// Short holds, and commits that take longer than holds last.
func TestHistoriesOfLateCommitsOnPostgres(t *testing.T) {
	t.Parallel()
	d, regs := newDatabase(t)
	d.exec("SELECT setval('slow', 1, true)")
	lineartest.Run(t, "on PostgreSQL with late commits", linear.Site{Registries: regs, Patience: time.Second, Concurrent: 12, Short: true}, lineartest.Count(t, 12))
}

// newDatabase starts a database, and returns it with three registries on it.
func newDatabase(t *testing.T) (d *database, regs []*dibs.Registry) {
	t.Helper()
	d = &database{T: t, cluster: pgtest.Start(t, pgtest.Options{})}
	for range 3 {
		regs = append(regs, registry(t, d.open()))
	}
	d.makeSlowable()
	return d, regs
}

// storeTimeout is how long a store tries to find out the outcome of a commit. It is short,
// so that sometimes the outcome stays unknown.
const storeTimeout = 200 * time.Millisecond

func (d *database) open() dibs.Store {
	d.Helper()
	network, addr := d.cluster.SocketAddr()
	proxy := pgproxy.Start(d, network, addr)
	store := mustOpen(d, func() (dibs.Store, error) {
		return pgstore.Open(d.Context(), proxy.DSN(d.cluster.DSN("postgres")), pgstore.Config{Timeout: storeTimeout})
	})
	proxy.SetHook(d.disturb)
	d.proxies = append(d.proxies, proxy)
	return store
}

// disturb decides what happens to each exchange while the proxies are faulty.
func (d *database) disturb(x *pgproxy.Exchange) pgproxy.Action {
	if !d.faulty.Load() || rand.IntN(4) > 0 || len(x.Statements) == 0 {
		return pgproxy.Pass()
	}
	code := []string{pgerrcode.SerializationFailure, pgerrcode.DeadlockDetected, pgerrcode.LockNotAvailable}[rand.IntN(3)]
	at := rand.IntN(len(x.Statements))
	pause := make(chan struct{})
	time.AfterFunc(rand.N(20*time.Millisecond), func() { close(pause) })
	actions := []pgproxy.Action{
		pgproxy.CutBefore(), pgproxy.CutDuring(at), pgproxy.CutAfter(), pgproxy.CutAfter(), pgproxy.Stall(pause), pgproxy.StallAnswer(pause),
		pgproxy.FailCommit(code), pgproxy.Fail(at, code),
	}
	return actions[rand.IntN(len(actions))]
}

func (d *database) inject(random *rand.Rand) string {
	switch random.IntN(14) {
	case 0:
		d.cluster.Kill(d.T)
		d.cluster.Restart(d.T)
		return "killed"
	case 1:
		d.cluster.Restart(d.T)
		return "restarted"
	case 2, 3:
		return d.endSessions()
	case 4, 5, 6:
		return d.cut(random)
	case 7, 8:
		return d.slowDown(random)
	default:
		return disturb(&d.faulty, random)
	}
}

// makeSlowable lets the test slow commits down in their COMMIT, with all locks held and
// nothing visible. A sequence is the switch: every transaction sees its current value.
func (d *database) makeSlowable() {
	d.Helper()
	d.exec(`CREATE SEQUENCE slow;
		CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF (SELECT is_called FROM slow) AND random() < 0.25 THEN PERFORM pg_sleep(random() * 0.1); END IF;
			RETURN NULL;
		END $$;
		CREATE CONSTRAINT TRIGGER take_time AFTER INSERT ON dibs.dibs_batches DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION take_time()`)
}

// slowDown makes commits slow for a while.
func (d *database) slowDown(random *rand.Rand) string {
	d.exec("SELECT setval('slow', 1, true)")
	time.Sleep(time.Duration(50+random.IntN(100)) * time.Millisecond)
	d.exec("SELECT setval('slow', 1, false)")
	return "slow"
}

func (d *database) exec(statement string) {
	d.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, d.cluster.DSN("postgres"))
	if err == nil {
		_, err = conn.Exec(ctx, statement)
		_ = conn.Close(ctx)
	}
	if err != nil {
		d.Fatal(err)
	}
}

// endSessions terminates all sessions except its own.
func (d *database) endSessions() string {
	d.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
	return "sessions ended"
}

// cut disconnects one store or all of them from the database, for a moment or for longer
// than they wait.
func (d *database) cut(random *rand.Rand) string {
	proxies, what := d.proxies, "all cut"
	if random.IntN(2) == 0 {
		first := random.IntN(len(proxies))
		proxies, what = proxies[first:first+1], "one cut"
	}
	for _, proxy := range proxies {
		proxy.Refuse(true)
		proxy.CutAll()
	}
	time.Sleep(time.Duration(random.Int64N(int64(3 * storeTimeout))))
	for _, proxy := range proxies {
		proxy.Refuse(false)
	}
	return what
}
