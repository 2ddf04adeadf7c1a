//go:build linux

// Package mariatest starts real, private MariaDB servers for tests, from the installed program. A
// server has a temporary folder, listens only on a Unix socket in it, and is gone when the test
// binary has ended, even if it was killed.
package mariatest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/calldibs/dibs/internal/testcache"
)

// patience is how long a server may take to start on a busy machine.
const patience = time.Minute

// database is the one that a server has.
const database = "shop"

// Server is a MariaDB server with its data. Call its methods from one goroutine at a time.
type Server struct {
	folder  string
	process *exec.Cmd
}

// program is the server.
const program = "/usr/sbin/mariadbd"

// template returns the data of an empty server. To copy it is much faster than to make it.
func template() (string, error) {
	version, err := testcache.Version(program)
	if err != nil {
		return "", fmt.Errorf("%w: make deps installs MariaDB", err)
	}
	args := append([]string{"--no-defaults", "--user=root", "--auth-root-authentication-method=normal", "--skip-test-db"}, small...)
	return testcache.Folder(append(args, version), func(folder string) error {
		if out, err := exec.Command("mariadb-install-db", append(args, "--datadir="+folder)...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: make deps installs MariaDB\n%s", err, out)
		}
		return nil
	})
}

// small are settings of a server that is copied and started quickly. It needs to survive a kill, not
// a power failure.
var small = []string{"--innodb-log-file-size=4M", "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync"}

// Start starts a server with an empty database, which ends with the test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	folder, err := os.MkdirTemp("", "mariadb") // a socket's path must be short
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{folder: folder}
	tb.Cleanup(func() {
		s.Kill()
		_ = os.RemoveAll(folder)
	})
	empty, err := template()
	if err != nil {
		tb.Fatal(err)
	}
	if out, err := exec.Command("cp", "-Rp", empty, s.path("data")).CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	s.Restart(tb)
	if err := s.exec(tb.Context(), "CREATE DATABASE "+database+" CHARACTER SET utf8mb4"); err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *Server) path(name string) string { return filepath.Join(s.folder, name) }

// URL is the address of the database, as dibs import takes it.
func (s *Server) URL() string {
	return "mysql://root@localhost/" + database + "?socket=" + url.QueryEscape(s.path("socket"))
}

// Restart starts a server that was killed, and returns once it answers.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.process = exec.Command(program, append([]string{
		"--no-defaults", "--user=root", "--datadir=" + s.path("data"), "--socket=" + s.path("socket"),
		"--skip-networking", "--tmpdir=" + s.folder, "--pid-file=" + s.path("pid"),
	}, small...)...)
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		tb.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := s.exec(tb.Context(), "SELECT 1")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("MariaDB does not answer: %v", err)
		}
	}
}

// exec runs a statement outside of the database.
func (s *Server) exec(ctx context.Context, statement string) error {
	db, err := sql.Open("mysql", fmt.Sprintf("root@unix(%s)/", s.path("socket")))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// Kill ends the server like a power failure.
func (s *Server) Kill() {
	if s.process != nil {
		_, _ = s.process.Process.Kill(), s.process.Wait() // it may have ended
		s.process = nil
	}
}

// The driver logs connections that were lost, as tests want them to be.
func init() { _ = mysql.SetLogger(&mysql.NopLogger{}) }
