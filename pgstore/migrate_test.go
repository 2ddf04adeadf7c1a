package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// dump describes a schema: all objects that a migration creates, and their comments.
func (r *rig) dump() string {
	r.Helper()
	oid := ask[uint32](r, "SELECT oid FROM pg_namespace WHERE nspname = $1", r.schema)
	const parts = `
		SELECT format('column %s.%s %s %s %s %s', table_name, column_name, data_type, is_nullable, column_default, collation_name)
			FROM information_schema.columns WHERE table_schema = $2
		UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = $2
		UNION ALL SELECT format('constraint %s on %s: %s', conname, conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint WHERE connamespace = $1
		UNION ALL SELECT format('view %s: %s', viewname, definition) FROM pg_views WHERE schemaname = $2
		UNION ALL SELECT format('comment on %s: %s', c.relname, d.description) FROM pg_description d JOIN pg_class c ON c.oid = d.objoid AND d.objsubid = 0 WHERE c.relnamespace = $1
		UNION ALL SELECT format('comment on %s.%s: %s', c.relname, a.attname, d.description) FROM pg_description d
			JOIN pg_class c ON c.oid = d.objoid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid WHERE c.relnamespace = $1 AND d.objsubid > 0
		UNION ALL SELECT format('comment on %s: %s', k.conname, d.description) FROM pg_description d JOIN pg_constraint k ON k.oid = d.objoid WHERE k.connamespace = $1`
	all := ask[string](r, "SELECT string_agg(line, E'\n' ORDER BY line) FROM ("+parts+") AS p(line)", oid, r.schema) +
		fmt.Sprintf("\n%d steps, %d heads", ask[int](r, "SELECT count(*) FROM "+r.table("dibs_schema")), ask[int](r, "SELECT count(*) FROM "+r.table("dibs_head")))
	return regexp.MustCompile(`"?`+regexp.QuoteMeta(r.schema)+`"?\.`).ReplaceAllString(all, "")
}

// mustBeComplete compares the schema with one that was created without interruption.
func (r *rig) mustBeComplete() {
	r.Helper()
	if got, want := r.dump(), rigOn(r.TB, schemaFor(r.TB)).dump(); got != want {
		r.Errorf("the schema is\n%s\n\nwant\n%s", got, want)
	}
}

func TestConcurrentMigrations(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			store, err := r.tryOpen(pgstore.Config{})
			if err != nil {
				t.Error(err)
				return
			}
			_ = store.Close()
		})
	}
	group.Wait()
	r.mustBeComplete()
}

// laterSteps undoes the steps that a later version has added.
var laterSteps = []string{
	`DROP INDEX {schema}.dibs_names_listed`,
	`CREATE INDEX dibs_names_key ON {schema}.dibs_name_rows (namespace, canonical)`,
	`CREATE INDEX dibs_names_rare ON {schema}.dibs_name_rows (state, namespace, canonical) WHERE state = ANY ('{suspect,quarantined,alias,free}')`,
	`ALTER TABLE {schema}.dibs_name_rows DROP CONSTRAINT dibs_names_consistent`,
	`ALTER TABLE {schema}.dibs_name_rows ADD CONSTRAINT dibs_names_state CHECK (true)`,
	`DELETE FROM {schema}.dibs_schema WHERE step > (SELECT max(step) FROM {schema}.dibs_schema) - 8`,
}

// A store of an earlier version is brought up to date with its names.
func TestMigrationOfAnEarlierStore(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{})
	r.mustCommit(reserving("a"), creating(freeName("b")), creating(ownedName("c", user("1")), entityRecord(user("1"))))
	r.leave()
	for _, statement := range laterSteps {
		r.exec(r.inSchema(statement))
	}
	if _, err := r.tryOpen(pgstore.Config{NoMigrations: true}); !errors.Is(err, pgstore.ErrOldSchema) {
		t.Errorf("%v, want ErrOldSchema", err)
	}
	r.open(pgstore.Config{})
	if list, err := r.store.List(context.Background(), dibs.ListQuery{Kind: dibs.KindName, Limit: 10}); err != nil || len(list) != 3 {
		t.Errorf("%d names, %v", len(list), err)
	}
	r.mustBeComplete()
}

// The environment variables of a test that starts itself as another process.
const dsnVariable, schemaVariable = "DIBS_TEST_OPEN_DSN", "DIBS_TEST_OPEN_SCHEMA"

func TestMigrationsInManyProcesses(t *testing.T) {
	if dsn := os.Getenv(dsnVariable); dsn != "" {
		if _, err := pgstore.Open(context.Background(), dsn, pgstore.Config{Schema: os.Getenv(schemaVariable)}); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Parallel()
	r := newRig(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			process := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
			process.Env = append(os.Environ(), dsnVariable+"="+pgtest.Shared(t).DSN("postgres"), schemaVariable+"="+r.schema)
			if out, err := process.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	group.Wait()
	r.mustBeComplete()
}

// A migration that is interrupted at any exchange, and at each COMMIT before and after the server has
// done it, resumes. The steps are alike, so only some are interrupted everywhere; see [longRun].
func TestInterruptedMigration(t *testing.T) {
	sequential(t)
	t.Parallel()
	r := newRig(t)
	done := func(r *rig) int { return ask[int](r, "SELECT count(*) FROM "+r.table("dibs_schema")) }
	all := done(rigOn(t, schemaFor(t)))
	for step := range all {
		everywhere := step == 0 || step == all-1 || longRun() > 0
		// If the connection is cut before the COMMIT, nothing is done, ...
		if everywhere || step%4 == 0 {
			if at := r.migrateUntil(everywhere, pgproxy.CutBefore()); step > 0 && done(r) != step {
				t.Fatalf("%d steps are done after the first %d exchanges, want %d", done(r), at, step)
			}
		}
		// ... and if it is cut after the COMMIT, one step is.
		if r.migrateUntil(false, pgproxy.CutAfter()); done(r) != step+1 {
			t.Fatalf("%d steps are done, want %d", done(r), step+1)
		}
	}
	r.open(pgstore.Config{NoMigrations: true})
	r.mustBeComplete()
}

// migrateUntil applies an action to the first COMMIT of a migration; with everywhere first to each
// exchange before that, in a migration each.
func (r *rig) migrateUntil(everywhere bool, action pgproxy.Action) (exchanges int) {
	r.Helper()
	dsn := r.proxy.DSN(r.dsn)
	commit := pgproxy.SQL("(?i)^commit")
	for k := 1; ; k++ {
		atCommit := make(chan bool, 1)
		n := 0
		r.proxy.SetHook(func(x *pgproxy.Exchange) pgproxy.Action { // of one connection
			if n++; commit(x) || everywhere && n == k {
				atCommit <- commit(x)
				return action
			}
			return pgproxy.Pass()
		})
		if err := pgstore.Migrate(context.Background(), dsn, pgstore.Config{Schema: r.schema}); err == nil {
			r.Fatal("the connection was cut, and Migrate succeeded")
		}
		r.calm()
		if <-atCommit {
			return k
		}
	}
}
