package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/nametest"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/storetest"
)

// namesSchema is one schema for several registries, each with its own store.
func namesSchema(tb testing.TB, dsn string, cfg pgstore.Config) *nametest.Harness {
	tb.Helper()
	dsn = withParam(tb, dsn, "pool_max_conns", "8")
	pool, err := pgxpool.New(context.Background(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return &nametest.Harness{
		Open: func(tb testing.TB) dibs.Store {
			tb.Helper()
			store, err := openPatient(dsn, cfg)
			if err != nil {
				tb.Fatal(err)
			}
			return store
		},
		InTx: func(ctx context.Context, reg *dibs.Registry, work func(*dibs.Registry) error) error {
			tx, err := pool.Begin(ctx)
			if err != nil {
				return err
			}
			if err := work(pgstore.WithTx(reg, tx)); err != nil {
				return errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
			}
			return lostCommit(tx.Commit(ctx))
		},
	}
}

// lostCommit adds ErrRetryTx to the error of a commit that lost a race at SERIALIZABLE.
func lostCommit(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == pgerrcode.SerializationFailure {
		return fmt.Errorf("%w: %w", dibs.ErrRetryTx, err)
	}
	return err
}

// eachNamesPlace runs a suite at some isolation levels.
func eachNamesPlace(t *testing.T, levels []string, suite func(*testing.T, func(testing.TB) *nametest.Harness)) {
	t.Helper()
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			suite(t, func(tb testing.TB) *nametest.Harness {
				tb.Helper()
				shared := pgtest.Shared(tb)
				return namesSchema(tb, isolation(tb, shared.DSN("postgres"), level), pgstore.Config{Schema: shared.NewSchema(tb)})
			})
		})
	}
}

func TestLookAlikes(t *testing.T) {
	eachNamesPlace(t, suiteLevels(), nametest.LookAlikes)
}

func TestKeys(t *testing.T) {
	eachNamesPlace(t, suiteLevels(), nametest.Keys)
}

func TestActivity(t *testing.T) {
	eachNamesPlace(t, []string{"read committed"}, nametest.Activity)
}

func TestDryRuns(t *testing.T) {
	eachNamesPlace(t, []string{"read committed"}, nametest.DryRuns)
}

// loggingAll makes a server log all statements with their parameters.
var loggingAll = map[string]string{
	"log_statement":                     "all",
	"log_min_duration_statement":        "0",
	"log_parameter_max_length":          "-1",
	"log_parameter_max_length_on_error": "-1",
}

func TestBlindValuesLeaveNoTrace(t *testing.T) {
	sequential(t)
	t.Parallel()
	nametest.Traces(t, func(tb testing.TB, clock *storetest.Clock) *nametest.Harness {
		tb.Helper()
		cluster := pgtest.Start(tb, pgtest.Options{Settings: loggingAll})
		dsn := cluster.DSN("postgres")
		conn := connect(tb, dsn)
		if _, err := conn.Exec(context.Background(), "CREATE SEQUENCE clock"); err != nil {
			tb.Fatal(err)
		}
		clock.Follow(func(now time.Time) {
			if _, err := conn.Exec(context.Background(), "SELECT setval('clock', $1)", now.UnixMilli()); err != nil {
				tb.Error(err)
			}
		})
		place := namesSchema(tb, dsn, pgstore.Config{ClockSQL: "(SELECT last_value FROM public.clock)"})
		_, socket := cluster.SocketAddr() // in the folder of the data and the log
		place.Files = func(tb testing.TB) []string { return filesIn(tb, filepath.Dir(socket)) }
		place.Telling = []string{`/log$`, `/data/pg_wal/`, `/data/base/`}
		place.Stop = func(tb testing.TB) { cluster.Stop(tb) }
		return place
	})
}

// filesIn returns all files in a folder. A running server may remove some meanwhile.
func filesIn(tb testing.TB, folder string) (files []string) {
	tb.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

func TestForget(t *testing.T) {
	t.Parallel()
	nametest.Forget(t, func(tb testing.TB, clock *storetest.Clock) *nametest.Harness {
		tb.Helper()
		s := &schemas{dsn: pgtest.Shared(tb).DSN("postgres")}
		store := s.open(tb, clock)
		cfg, _ := s.opens.Load(store)
		if err := store.Close(); err != nil {
			tb.Fatal(err)
		}
		place := namesSchema(tb, s.dsn, cfg.(pgstore.Config))
		place.Dump = func(tb testing.TB) []byte { return dump(tb, connect(tb, s.dsn), cfg.(pgstore.Config).Schema) }
		return place
	})
}

// dump returns all rows of all tables.
func dump(tb testing.TB, conn *pgx.Conn, schema string) (all []byte) {
	tb.Helper()
	for _, table := range []string{"dibs_names", "dibs_name_rows", "dibs_entities", "dibs_documents", "dibs_events", "dibs_batches", "dibs_counts", "dibs_feed"} {
		rows, err := conn.Query(tb.Context(), fmt.Sprintf("SELECT t::text FROM %s t", pgx.Identifier{schema, table}.Sanitize()))
		if err != nil {
			tb.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			tb.Fatal(err)
		}
		for _, text := range texts {
			all = append(append(all, text...), '\n')
		}
	}
	return all
}
