//go:build unix

package dibsimport_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsimport"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// newPostgresTarget returns a target on PostgreSQL, and the address of its database.
func newPostgresTarget(t *testing.T) (*target, string) {
	t.Helper()
	dsn := pgtest.Shared(t).NewDatabase(t)
	store, err := pgstore.Open(t.Context(), dsn, pgstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r := &target{t: t, store: store, config: dibs.Config{SweepEvery: -1}}
	if r.registry, err = embedded.Open(r.store, r.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.registry.Close() })
	return r, dsn
}

// The first of two rows gets the name that both want, also if another transaction has it for a while.
func TestTwinsOfANameThatIsLocked(t *testing.T) {
	t.Parallel()
	r, dsn := newPostgresTarget(t)
	const pairs = 12
	rows, want := "id,username\n", []string(nil)
	for i := range pairs {
		rows += fmt.Sprintf("%d,wanted-%02d\n", i, i)
		want = append(want, fmt.Sprintf("wanted-%02d active user/%d", i, i))
	}
	for i := range pairs {
		rows += fmt.Sprintf("%d,wanted-%02d\n", pairs+i, i)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range pairs {
		claim := dibs.Claim{Namespace: "username", Value: fmt.Sprintf("wanted-%02d", i), Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(1000 + i)}}
		if _, err := pgstore.WithTx(r.registry, tx).Claim(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	undone := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { undone <- tx.Rollback(t.Context()) })
	report, lost := r.run(rows, dibsimport.Options{})
	if err := <-undone; err != nil {
		t.Fatal(err)
	}
	if report.Imported != pairs || len(lost) != pairs {
		t.Errorf("%+v, lost %v", report, lost)
	}
	mustEqual(t, "owners", r.owners(), want)
}

// An import that is begun again finds all names taken, in few transactions: a batch has a thousand guesses
// that are wrong.
func TestImportAgainTakesFewTransactions(t *testing.T) {
	t.Parallel()
	r, dsn := newPostgresTarget(t)
	const names = 3000
	var rows strings.Builder
	rows.WriteString("id,username\n")
	for i := range names {
		fmt.Fprintf(&rows, "%d,name-%d\n", i, i)
	}
	r.run(rows.String(), dibsimport.Options{})
	if err := r.registry.Close(); err != nil {
		t.Fatal(err)
	}
	before := transactions(t, dsn)
	store, err := pgstore.Open(t.Context(), dsn, pgstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if r.registry, err = embedded.Open(store, r.config); err != nil { // without memory of the first
		t.Fatal(err)
	}
	if report, _ := r.run(rows.String(), dibsimport.Options{}); report.Unchanged != names {
		t.Error(report)
	}
	if err := r.registry.Close(); err != nil {
		t.Fatal(err)
	}
	if took := transactions(t, dsn) - before; took < 3 || took > 100 {
		t.Errorf("it took %d transactions", took)
	}
}

// transactions returns how many the database has seen. A session tells it at its end at the latest, so
// there must be no other.
func transactions(t *testing.T, dsn string) (count int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for others := 1; others > 0; {
		if err := conn.QueryRow(t.Context(), `SELECT xact_commit + xact_rollback, numbackends - 1 FROM pg_stat_database
			WHERE datname = current_database()`).Scan(&count, &others); err != nil {
			t.Fatal(err)
		}
	}
	return count
}

// Batches of one list are entered at once only if they are about different names: of two rows that want a
// name, the first gets it.
func TestBatchesAreEnteredInOrder(t *testing.T) {
	t.Parallel()
	r, _ := newPostgresTarget(t)
	const rows, batch, twins = 2000, 1000, 10
	entity := func(i int) dibs.Entity { return dibs.Entity{Type: "user", ID: fmt.Sprint(i)} }
	if _, err := r.registry.Claim(t.Context(), dibs.Claim{Namespace: "username", Value: "first", Entity: entity(rows)}); err != nil {
		t.Fatal(err) // the namespace exists, so that both batches could be entered at once
	}
	var request dibs.ImportRequest
	for i := range rows {
		wants := i
		if i >= batch && i < batch+twins {
			wants = i - 2*twins // of the end of the first batch
		}
		request.Imports = append(request.Imports, dibs.Import{Namespace: "username", Value: fmt.Sprint("name-", wants), Entity: entity(i)})
	}
	imported, err := r.registry.ImportAll(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	for i, result := range imported {
		if refused := i >= batch && i < batch+twins; (result.Err != nil) != refused {
			t.Errorf("row %d: %v", i, result.Err)
		}
	}
}

// Many rows that want one name get their numbers in few transactions.
func TestManyNumbersTakeFewTransactions(t *testing.T) {
	t.Parallel()
	r, dsn := newPostgresTarget(t)
	const rows = 300
	source := "id,username\n"
	for i := range rows {
		source += fmt.Sprintf("%d,ann\n", i)
	}
	if report, _ := r.run(source, dibsimport.Options{OnConflict: dibsimport.Suffix}); report.Imported != rows || report.Suffixed != rows-1 {
		t.Errorf("%+v", report)
	}
	if err := r.registry.Close(); err != nil {
		t.Fatal(err)
	}
	if took := transactions(t, dsn); took >= rows { // those that made the schema included
		t.Errorf("it took %d transactions", took)
	}
}
