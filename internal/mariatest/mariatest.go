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
	install := exec.CommandContext(tb.Context(), "mariadb-install-db", "--no-defaults", "--user=root", "--datadir="+s.path("data"),
		"--tmpdir="+folder, "--auth-root-authentication-method=normal", "--skip-test-db")
	if out, err := install.CombinedOutput(); err != nil {
		tb.Fatalf("%v: make deps installs MariaDB\n%s", err, out)
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
	s.process = exec.Command("/usr/sbin/mariadbd", "--no-defaults", "--user=root", "--datadir="+s.path("data"), "--socket="+s.path("socket"),
		"--skip-networking", "--innodb-flush-log-at-trx-commit=0", "--tmpdir="+s.folder, "--pid-file="+s.path("pid"))
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
