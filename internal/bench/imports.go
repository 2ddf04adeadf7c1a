//go:build unix

package bench

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/sqlitestore"
)

// The peers are the same rows in a table that has nothing but a unique name.
const (
	copiedTable = "CREATE TABLE users (id BIGINT PRIMARY KEY, username TEXT NOT NULL UNIQUE, created_at TIMESTAMPTZ NOT NULL)"
	loadedTable = "CREATE TABLE users (id INTEGER PRIMARY KEY, username TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL)"
)

var (
	bareCopy = peer{is: "COPY into a bare table", lacks: "canonical names, look-alikes, owners with one name each, a history, a feed; one twin stops it"}
	bareLoad = peer{is: "INSERT into a bare table in one transaction", lacks: bareCopy.lacks}
)

// planned is how many names are imported at most where no goal is set: a large import takes minutes.
const planned = 200_000

// importNames is S11: the users of another system from a CSV file, by the command line, into an
// empty store. The goal is two million in two minutes.
func importNames(l *lab) []row {
	const goal = 2_000_000 / 120.0
	l.buildServer()
	var memory sample
	all, some := l.newImports(l.imports, &memory), l.newImports(min(l.imports, planned), &memory)
	postgres := l.takeTurns(func() reading { return all.intoPostgres("first") }, all.copyToPostgres)
	sqlite := l.takeTurns(func() reading { return all.intoSQLite("first", false) }, all.insertIntoSQLite)
	others := l.takeTurns(
		func() reading { return some.intoPostgres("fail") },
		func() reading { return some.intoSQLite("fail", false) },
		func() reading { return some.intoSQLite("first", true) },
	)
	return []row{
		{what: all.on("PostgreSQL"), unit: figures.PerSecond, ours: postgres[0], want: atLeast(goal)},
		{what: all.on("PostgreSQL"), unit: figures.PerSecond, ours: postgres[0], against: bareCopy, peer: postgres[1]},
		{what: some.on("PostgreSQL, after a plan"), unit: figures.PerSecond, ours: others[0]},
		{what: all.on("SQLite"), unit: figures.PerSecond, ours: sqlite[0], want: atLeast(goal)},
		{what: all.on("SQLite"), unit: figures.PerSecond, ours: sqlite[0], against: bareLoad, peer: sqlite[1]},
		{what: some.on("SQLite, after a plan"), unit: figures.PerSecond, ours: others[1]},
		{what: some.on("SQLite, into a file in use"), unit: figures.PerSecond, ours: others[2]},
		{what: "memory of an import, peak", unit: figures.Megabytes, ours: series{figures: sample{slices.Max(memory)}}, want: atMost(200)},
	}
}

// imports are imports of one file.
type imports struct {
	*lab
	names  int
	file   string
	memory *sample // the peaks
}

func (l *lab) newImports(names int, memory *sample) *imports {
	l.Helper()
	i := &imports{l, names, filepath.Join(l.TempDir(), fmt.Sprintf("%d-users.csv", names)), memory}
	i.writeUsers()
	return i
}

func (i *imports) on(engine string) string {
	return fmt.Sprintf("import of %s names on %s", figures.Thousands(float64(i.names)), engine)
}

func (i *imports) writeUsers() {
	i.Helper()
	file, err := os.Create(i.file)
	i.must(err)
	out := bufio.NewWriter(file)
	fmt.Fprintln(out, "id,username,created_at")
	for n := range i.names {
		fmt.Fprintf(out, "%d,%s,2021-03-01T10:00:00Z\n", n+1, newName())
	}
	i.must(errors.Join(out.Flush(), file.Close()))
}

// rate is the names a second, and the processor time of each, of a load that began with this state
// of the engine's processes.
func (i *imports) rate(begin time.Time, processor time.Duration) reading {
	return reading{float64(i.names) / time.Since(begin).Seconds(), float64(processor.Microseconds()) / float64(i.names)}
}

func (i *imports) intoPostgres(onConflict string) reading {
	i.Helper()
	dsn, drop := i.newDatabase()
	defer drop()
	i.calm()
	return i.into(dsn, onConflict, i.cluster.Processes)
}

// intoSQLite imports into a new file, or into one that is there and that other processes may use.
func (i *imports) intoSQLite(onConflict string, exists bool) reading {
	i.Helper()
	folder, err := os.MkdirTemp(i.TempDir(), "import")
	i.must(err)
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "names.db")
	if exists {
		store, err := sqlitestore.Open(i.Context(), path, sqlitestore.Config{})
		i.must(err)
		i.must(store.Close())
	}
	return i.into("sqlite:"+path, onConflict, func() []int { return nil })
}

// into runs dibs import.
func (i *imports) into(store, onConflict string, engine func() []int) reading {
	i.Helper()
	begin, before := time.Now(), i.processorOfAll(engine())
	command := exec.Command(i.program, "import", i.file, "--namespace", "username", "--entity-type", "user",
		"--on-conflict", onConflict, "--store", store)
	command.Env = append(os.Environ(), childEnv+"=1")
	out, err := command.CombinedOutput()
	if err != nil {
		i.Fatalf("%v\n%s", err, out)
	}
	used := i.processorOfAll(engine()) - before + command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		*i.memory = append(*i.memory, float64(usage.Maxrss)/1024)
	}
	return i.rate(begin, used)
}

func (i *imports) processorOfAll(processes []int) (total time.Duration) {
	for _, pid := range processes {
		total += processorOf(pid)
	}
	return total
}

func (i *imports) copyToPostgres() reading {
	i.Helper()
	dsn, drop := i.newDatabase()
	defer drop()
	conn, err := pgx.Connect(i.Context(), dsn)
	i.must(err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(i.Context(), copiedTable)
	i.must(err)
	file, err := os.Open(i.file)
	i.must(err)
	defer func() { _ = file.Close() }()
	i.calm()
	begin, before := time.Now(), i.processor(nil)+i.processorOfAll(i.cluster.Processes())
	_, err = conn.PgConn().CopyFrom(i.Context(), bufio.NewReaderSize(file, 1<<16), "COPY users FROM STDIN WITH (FORMAT csv, HEADER)")
	i.must(err)
	return i.rate(begin, i.processor(nil)+i.processorOfAll(i.cluster.Processes())-before)
}

func (i *imports) insertIntoSQLite() reading {
	i.Helper()
	folder, err := os.MkdirTemp(i.TempDir(), "bare")
	i.must(err)
	defer func() { _ = os.RemoveAll(folder) }()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "users.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	i.must(err)
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(i.Context(), loadedTable)
	i.must(err)
	begin, before := time.Now(), i.processor(nil)
	i.must(i.insertAll(db))
	return i.rate(begin, i.processor(nil)-before)
}

func (i *imports) insertAll(db *sql.DB) error {
	file, err := os.Open(i.file)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	tx, err := db.BeginTx(i.Context(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	insert, err := tx.PrepareContext(i.Context(), "INSERT INTO users VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	rows := csv.NewReader(bufio.NewReader(file))
	if _, err := rows.Read(); err != nil { // the names of the columns
		return err
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return tx.Commit()
		}
		if err != nil {
			return err
		}
		if _, err := insert.ExecContext(i.Context(), row[0], row[1], row[2]); err != nil {
			return err
		}
	}
}
