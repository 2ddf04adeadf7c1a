//go:build unix

package model_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/lineartest"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// patience is how long a call may take on a slow machine.
const patience = 2 * time.Minute

// TestHistoriesOnEveryEngine runs the same history on the model, on memory and on an engine.
// HISTORIES of the environment says how many there are.
func TestHistoriesOnEveryEngine(t *testing.T) {
	setChecks(t, 1) // and the number of checks is that of histories: it differs between engines, which run in parallel
	for _, engine := range []struct {
		name string
		few  int
		open func(t *testing.T) openEngine
	}{
		{"sqlite", 12, onSQLite},
		{"postgres", 4, onPostgres},
		{"etcd", 2, onEtcd},
	} {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			open := engine.open(t)
			histories, steps := lineartest.Count(t, engine.few), 0
			for range histories {
				rapid.Check(t, func(t *rapid.T) { steps += liveBeside(t, open) })
			}
			t.Logf("figure: histories of one caller as on memory = %d\nfigure: steps of these = %d", histories, steps)
		})
	}
}

// liveBeside runs a history on an engine, too, and returns how many steps it has.
func liveBeside(t *rapid.T, open openEngine) (steps int) {
	changes := rapid.IntRange(0, 3).Draw(t, "changes rules") == 3
	w := newWorldBeside(t, changes, open)
	defer w.close()
	if changes {
		w.liveAndChange()
	} else {
		w.live(false)
	}
	return w.observed
}

func onSQLite(t *testing.T) openEngine {
	folder := t.TempDir()
	var files atomic.Int64
	return func(w *world) engine {
		path := filepath.Join(folder, fmt.Sprintf("%d.db", files.Add(1)))
		store, err := sqlitestore.Open(context.Background(), path, sqlitestore.Config{Now: func() time.Time { return time.UnixMilli(w.now) }})
		if err != nil {
			w.t.Fatal(err)
		}
		return engine{name: "sqlite", store: store, close: func() {
			_ = store.Close()
			_ = os.Remove(path)
		}}
	}
}

// onPostgres opens schemas. Their clock is a sequence: every transaction sees its present value.
func onPostgres(t *testing.T) openEngine {
	cluster := pgtest.Shared(t)
	conn := pgtest.Connect(t, cluster.DSN("postgres"))
	exec := func(statement string) error {
		_, err := conn.Exec(context.Background(), statement)
		return err
	}
	if err := exec("CREATE SEQUENCE IF NOT EXISTS steered"); err != nil {
		t.Fatal(err)
	}
	set := func(now int64) error { return exec(fmt.Sprintf("SELECT setval('steered', %d)", now)) }
	var schemas atomic.Int64
	return func(w *world) engine {
		schema := fmt.Sprintf("history_%d", schemas.Add(1))
		if err := set(w.now); err != nil {
			w.t.Fatal(err)
		}
		store, err := pgstore.Open(context.Background(), cluster.DSN("postgres"), pgstore.Config{
			Schema: schema, ClockSQL: "(SELECT last_value FROM public.steered)", Timeout: patience,
		})
		if err != nil {
			w.t.Fatal(err)
		}
		return engine{name: "postgres", store: store, set: set, close: func() {
			_ = store.Close()
			if err := exec("DROP SCHEMA " + pgx.Identifier{schema}.Sanitize() + " CASCADE"); err != nil {
				t.Error(err)
			}
		}}
	}
}

// onEtcd opens prefixes.
func onEtcd(t *testing.T) openEngine {
	cluster := etcdtest.Shared(t)
	return func(w *world) engine {
		var wall atomic.Int64 // a copy, which etcdstore reads at any time
		wall.Store(w.now)
		store, err := etcdstore.Open(context.Background(), etcdstore.Config{
			Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), MaxSkew: -1, Timeout: patience, MaxTxnOps: 4096,
			Now: func() time.Time { return time.UnixMilli(wall.Load()) },
		})
		if err != nil {
			w.t.Fatal(err)
		}
		set := func(now int64) error {
			wall.Store(now)
			return nil
		}
		return engine{name: "etcd", store: store, set: set, close: func() { _ = store.Close() }}
	}
}
