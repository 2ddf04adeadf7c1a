package pgstore_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/storetest"
)

// isolation adds a default isolation level to a DSN.
func isolation(tb testing.TB, dsn, level string) string {
	tb.Helper()
	return withParam(tb, dsn, "default_transaction_isolation", level)
}

func withParam(tb testing.TB, dsn, name, value string) string {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	return u.String()
}

// levels are the isolation levels that a database may have as its default.
var levels = []string{"read committed", "repeatable read", "serializable"}

// schemas opens stores for the suite, each in a schema of its own, with a clock that
// the suite can move.
type schemas struct {
	dsn   string
	pools bool     // transactions, see Config.TransactionPooling
	opens sync.Map // of dibs.Store to pgstore.Config
}

// open opens an empty schema. Its clock is a sequence: every transaction sees the present value of a
// sequence, whatever its snapshot.
func (s *schemas) open(tb testing.TB, clock *storetest.Clock) dibs.Store {
	tb.Helper()
	var own *schema
	select {
	case own = <-emptySchemas:
	default:
		own = newSchema(tb)
	}
	clock.Follow(func(now time.Time) {
		if _, err := own.conn.Exec(context.Background(), fmt.Sprintf("SELECT setval('%s.clock', %d)", own.quoted, now.UnixMilli())); err != nil {
			tb.Error(err)
		}
	})
	store := s.openAs(tb, pgstore.Config{
		Schema: own.name, LockWait: 3 * time.Second, ClockSQL: "(SELECT last_value FROM " + own.quoted + ".clock)", TransactionPooling: s.pools,
	})
	if own.objects == "" {
		own.objects = own.describe(tb)
	}
	tb.Cleanup(func() { own.giveBack(tb) })
	return store
}

func (s *schemas) openAs(tb testing.TB, cfg pgstore.Config) dibs.Store {
	tb.Helper()
	store, err := openPatient(s.dsn, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	s.opens.Store(store, cfg)
	return store
}

// again opens the schema of a store again.
func (s *schemas) again(tb testing.TB, store dibs.Store, _ *storetest.Clock) dibs.Store {
	tb.Helper()
	cfg, _ := s.opens.Load(store)
	return s.openAs(tb, cfg.(pgstore.Config))
}

// hold locks a name's row in a session of its own.
func (s *schemas) hold(tb testing.TB, store dibs.Store, ref dibs.Ref) (release func()) {
	tb.Helper()
	cfg, _ := s.opens.Load(store)
	tx := begin(tb, place{dsn: pgtest.Shared(tb).DSN("postgres")})
	statement := fmt.Sprintf("SELECT id FROM %s.dibs_names WHERE id = $1 FOR UPDATE", pgx.Identifier{cfg.(pgstore.Config).Schema}.Sanitize())
	if tag, err := tx.Exec(context.Background(), statement, ref.ID[:]); err != nil || tag.RowsAffected() != 1 {
		tb.Fatalf("locked %d rows, %v", tag.RowsAffected(), err)
	}
	return func() {
		if err := tx.Rollback(context.Background()); err != nil {
			tb.Error(err)
		}
	}
}

// stall makes commits of a schema wait in their COMMIT, with all locks held and nothing visible,
// like one that waits for a standby. Sequences signal it: every transaction sees their present
// value.
func (s *schemas) stall(tb testing.TB, store dibs.Store) (stalled <-chan struct{}, resume func()) {
	tb.Helper()
	cfg, _ := s.opens.Load(store)
	schema := pgx.Identifier{cfg.(pgstore.Config).Schema}.Sanitize()
	conn, err := pgx.Connect(context.Background(), pgtest.Shared(tb).DSN("postgres"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	run := func(statement string) {
		if _, err := conn.Exec(context.Background(), strings.ReplaceAll(statement, "SCHEMA", schema)); err != nil {
			tb.Error(err)
		}
	}
	run(`CREATE SEQUENCE IF NOT EXISTS SCHEMA.reached;
		CREATE SEQUENCE IF NOT EXISTS SCHEMA.resumed;
		SELECT setval('SCHEMA.reached', 1), setval('SCHEMA.resumed', 1);
		CREATE OR REPLACE FUNCTION SCHEMA.stall() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			PERFORM setval('SCHEMA.reached', 2);
			WHILE (SELECT last_value FROM SCHEMA.resumed) = 1 LOOP PERFORM pg_sleep(0.002); END LOOP;
			RETURN NULL;
		END $$;
		DROP TRIGGER IF EXISTS stall ON SCHEMA.dibs_batches;
		CREATE CONSTRAINT TRIGGER stall AFTER INSERT ON SCHEMA.dibs_batches DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION SCHEMA.stall()`)
	reached, over := make(chan struct{}), make(chan struct{})
	var polling sync.WaitGroup
	polling.Go(func() {
		for {
			var at int
			if err := conn.QueryRow(context.Background(), "SELECT last_value FROM "+schema+".reached").Scan(&at); err != nil || at == 2 {
				close(reached)
				return
			}
			select {
			case <-over:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	return reached, func() {
		close(over)
		polling.Wait()
		run("SELECT setval('SCHEMA.resumed', 2)")
	}
}

// suiteLevels are the levels of a whole suite: the default, and the strictest, which also refuses all
// that the one between them refuses. A long run tries all. The race detector sees the same code at each.
func suiteLevels() []string {
	if testing.Short() {
		return levels[:1]
	}
	return usually([]string{"read committed", "serializable"}, levels)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, level := range suiteLevels() {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			s := &schemas{dsn: withParam(t, isolation(t, pgtest.Shared(t).DSN("postgres"), level), "pool_max_conns", "6")}
			storetest.Run(t, storetest.Harness{Open: s.open, Reopen: s.again, Share: s.again, Hold: s.hold, Stall: s.stall})
		})
	}
}
