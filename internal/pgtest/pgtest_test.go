//go:build unix

package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/harness"
	"github.com/calldibs/dibs/internal/parallel"
)

const childEnv = "DIBS_PGTEST_CHILD"

// TestMain lets the test binary run as a child process: it starts a cluster, prints its
// location, and waits to be killed.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		parallel.PerProcessor(3) // most tests wait for servers
		os.Exit(m.Run())
	}
	c, err := sharedCluster()
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(c.home.dir)
	_, _ = os.Stdin.Read(make([]byte, 1))
	panic("the parent tests what a panic leaves behind")
}

func mustExec(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// value is the result of a query, as text.
func value(t *testing.T, conn *pgx.Conn, query string) (text string) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query).Scan(&text); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return text
}

const names = "SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM names"

func TestSharedIsOneCluster(t *testing.T) {
	t.Parallel()
	if one, other := Shared(t), Shared(t); one != other {
		t.Error("two clusters")
	}
}

func TestDatabasesAreIsolated(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	one, other := Connect(t, c.NewDatabase(t)), Connect(t, c.NewDatabase(t))
	mustExec(t, one, "CREATE TABLE names (name text)")
	mustExec(t, one, "INSERT INTO names VALUES ('alice')")
	mustExec(t, other, "CREATE TABLE names (name text)")
	if got := value(t, other, names); got != "" {
		t.Errorf("the other database has %s", got)
	}
	if got := value(t, one, names); got != "alice" {
		t.Errorf("got %q", got)
	}
}

func TestDatabasesAndSchemasGoWithTheirTest(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	var database, schema string
	t.Run("separate", func(t *testing.T) {
		conn := Connect(t, c.NewDatabase(t))
		database = value(t, conn, "SELECT current_database()")
		schema = c.NewSchema(t)
		if again := c.NewSchema(t); again == schema {
			t.Errorf("%s twice", schema)
		}
		conn = Connect(t, c.DSN("postgres"))
		mustExec(t, conn, "CREATE SCHEMA "+schema)
		mustExec(t, conn, "CREATE TABLE "+schema+".names (name text)")
	})
	conn := Connect(t, c.DSN("postgres"))
	left := fmt.Sprintf(`SELECT concat((SELECT datname FROM pg_database WHERE datname = '%s'),
		(SELECT nspname FROM pg_namespace WHERE nspname = '%s'))`, database, schema)
	if got := value(t, conn, left); got != "" || database == "" || schema == "" {
		t.Errorf("%q and %q: %q is left", database, schema, got)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Settings: map[string]string{"full_page_writes": "on", "work_mem": "5MB"}})
	conn := Connect(t, c.DSN("postgres"))
	for name, want := range map[string]string{
		"full_page_writes":   "on", // overrides the package's setting
		"work_mem":           "5MB",
		"fsync":              "off",
		"synchronous_commit": "on",
		"listen_addresses":   "",
	} {
		if got := value(t, conn, "SHOW "+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !strings.HasPrefix(c.home.dir, memoryFolder()) {
		t.Errorf("a cluster that does not sync is not in memory: %s", c.home.dir)
	}
	network, addr := c.SocketAddr()
	socket, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = socket.Close()
}

func TestStartSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	_, err := startCluster(Options{Settings: map[string]string{"no_such_setting": "on"}})
	if err == nil || !strings.Contains(err.Error(), `unrecognized configuration parameter "no_such_setting"`) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > patience/2 {
		t.Errorf("took %v to see that the server had ended", took)
	}
}

func TestSharedCannotBeStopped(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	for name, end := range map[string]func(harness.TB){"Kill": c.Kill, "Stop": c.Stop, "Restart": c.Restart} {
		tb := &fatalTB{TB: t}
		func() {
			defer func() { _ = recover() }()
			end(tb)
		}()
		if !tb.failed {
			t.Errorf("%s ended the shared cluster", name)
		}
	}
}

// fatalTB records a call of Fatal instead of failing the test.
type fatalTB struct {
	testing.TB
	failed bool
}

func (tb *fatalTB) Fatal(...any) {
	tb.failed = true
	panic("Fatal does not return")
}

func TestKilledClusterKeepsWhatIsCommitted(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	dsn := c.NewDatabase(t)
	conn := Connect(t, dsn)
	mustExec(t, conn, "CREATE TABLE names (name text)")
	const work = "DO $$ BEGIN WHILE clock_timestamp() < now() + interval '30 seconds' LOOP END LOOP; END $$"
	for _, name := range []string{"alice", "bob"} {
		mustExec(t, conn, "INSERT INTO names VALUES ('"+name+"')")
		// A busy backend does not check whether the postmaster lives.
		busy := Connect(t, dsn)
		working := make(chan error, 1)
		go func() {
			_, err := busy.Exec(context.Background(), work)
			working <- err
		}()
		err := await("the backend is busy", func() (bool, error) {
			return c.isTrue("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND query = $1)", work)
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Kill(t)
		if err := <-working; err == nil {
			t.Error("a backend survived")
		}
		if _, err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
			t.Error("a killed cluster answers")
		}
		if left := processesIn(c.home.data()); len(left) > 0 {
			t.Errorf("processes %v survived", left)
		}
		c.Restart(t)
		conn = Connect(t, dsn)
	}
	if got := value(t, conn, names); got != "alice bob" {
		t.Errorf("got %q", got)
	}
}

func TestStoppedClusterStartsAgain(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Settings: map[string]string{"fsync": "on"}})
	if memory := memoryFolder(); memory != "" && strings.HasPrefix(c.home.dir, memory) {
		t.Errorf("a cluster that syncs is in memory: %s", c.home.dir)
	}
	dsn := c.NewDatabase(t)
	mustExec(t, Connect(t, dsn), "CREATE TABLE names (name text)")
	c.Stop(t)
	if _, err := pgx.Connect(t.Context(), dsn); err == nil {
		t.Error("a stopped cluster answers")
	}
	c.Restart(t)
	mustExec(t, Connect(t, dsn), "INSERT INTO names VALUES ('alice')")
	c.Restart(t) // a running one
	if got := value(t, Connect(t, dsn), names); got != "alice" {
		t.Errorf("got %q", got)
	}
}

func TestPromotedStandbyHasWhatIsCommitted(t *testing.T) {
	t.Parallel()
	primary := Start(t, Options{})
	first, second := primary.Standby(t, "first"), primary.Standby(t, "second")
	conn := Connect(t, primary.DSN("postgres"))
	mustExec(t, conn, "CREATE TABLE names (name text)")
	for i := range 100 {
		mustExec(t, conn, fmt.Sprintf("INSERT INTO names VALUES ('name-%d')", i))
	}

	// Commits wait for the second standby, too.
	second.Kill(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := conn.Exec(ctx, "INSERT INTO names VALUES ('not acknowledged')"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a commit without a standby: %v", err)
	}

	primary.Kill(t)
	second.Restart(t)
	for _, standby := range []*Cluster{first, second} {
		conn := Connect(t, standby.DSN("postgres"))
		if _, err := conn.Exec(t.Context(), "INSERT INTO names VALUES ('too early')"); err == nil {
			t.Error("a standby can be written to")
		}
		standby.Promote(t)
		if got := value(t, conn, "SELECT count(*)::text FROM names WHERE name LIKE 'name-%'"); got != "100" {
			t.Errorf("%s names of 100", got)
		}
		// It waits for no standby.
		mustExec(t, conn, "INSERT INTO names VALUES ('now')")
	}
}

func TestNothingSurvivesATestBinary(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(*exec.Cmd, func() error) error{
		"killed":   func(child *exec.Cmd, _ func() error) error { return child.Process.Kill() },
		"panicked": func(_ *exec.Cmd, closeInput func() error) error { return closeInput() },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			// Everything that a test binary leaves is in this folder, also the data that it copies.
			folder, err := os.MkdirTemp("", "dibs-") // short, unlike t.TempDir
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(folder) })
			if err := os.Chmod(folder, 0o777); err != nil { // PostgreSQL's user removes its folders in it
				t.Fatal(err)
			}
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), childEnv+"=1", "TMPDIR="+folder)
			input, err := child.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			output, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			dir, err := bufio.NewReader(output).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			data := (&home{dir: strings.TrimSpace(dir)}).data()
			if _, err := os.Stat("/proc"); err == nil && len(processesIn(data)) == 0 {
				t.Fatalf("nothing runs in %s", data)
			}
			if err := end(child, input.Close); err != nil {
				t.Fatal(err)
			}
			if child.Wait() == nil {
				t.Error("the child ended without an error")
			}
			err = await("all is gone", func() (bool, error) {
				left, err := os.ReadDir(folder)
				return len(left) == 0 && len(processesIn(data)) == 0, err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// The server of the highest version is used, and a folder without a server is not.
func TestNewestServerIsFound(t *testing.T) {
	t.Parallel()
	debian := t.TempDir()
	for _, file := range []string{"9.6/bin/postgres", "9.6/bin/initdb", "9/bin/postgres", "9/bin/initdb", "15/bin/postgres", "15/bin/initdb", "17/bin/psql"} {
		path := filepath.Join(debian, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	folders, err := filepath.Glob(debian + "/*/bin")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := firstServer(newestFirst(folders)); err != nil || got != filepath.Join(debian, "15/bin") {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := firstServer([]string{filepath.Join(debian, "17/bin")}); !errors.Is(err, errNotInstalled) {
		t.Errorf("got %v", err)
	}
}

// A cluster with a folder finds its data again.
func TestKeptCluster(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "dibs-kept-") // PostgreSQL's user cannot reach the folders of tests
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	for _, statement := range []string{"CREATE TABLE kept (x INT)", "INSERT INTO kept VALUES (1)"} {
		t.Run(statement, func(t *testing.T) {
			cluster := Start(t, Options{Folder: folder})
			if len(cluster.Processes()) == 0 && runtime.GOOS == "linux" {
				t.Error("the cluster has no processes")
			}
			conn := Connect(t, cluster.DSN("postgres"))
			mustExec(t, conn, statement)
		})
	}
}
