package pgproxy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// cluster is the folder of the one server of these tests.
var cluster string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "pg")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	cluster = folder
	server, err := startCluster(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	// Immediately: there is nothing to keep.
	_ = server.Process.Signal(syscall.SIGQUIT)
	_ = server.Wait()
	return code
}

// startCluster runs a server on a socket in this folder.
func startCluster(folder string) (*exec.Cmd, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		return nil, errors.New("there is no PostgreSQL in /usr/lib/postgresql")
	}
	bin := found[len(found)-1]
	// A server refuses to run as root, and it ends with us whatever becomes of the tests.
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() == 0 {
		owner, err := user.Lookup("postgres")
		if err != nil {
			return nil, err
		}
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		if err := os.Chown(folder, uid, gid); err != nil {
			return nil, err
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	data := filepath.Join(folder, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "--no-sync", "-A", "trust", "-U", "postgres", "-D", data)
	initdb.SysProcAttr, initdb.Dir = attr, folder
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off")
	server.SysProcAttr, server.Dir = attr, folder
	if err := server.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := pgx.Connect(context.Background(), "host="+folder+" user=postgres dbname=postgres")
		if err == nil {
			return server, conn.Close(context.Background())
		}
		if time.Now().After(deadline) {
			return nil, err
		}
	}
}

var schemas atomic.Int64

// startPostgres returns the address of a server, and a connection string for a schema of
// the test's own.
func startPostgres(tb testing.TB) (network, addr, dsn string) {
	tb.Helper()
	dsn = "host=" + cluster + " user=postgres dbname=postgres"
	name := fmt.Sprintf("test%d", schemas.Add(1))
	if _, err := connect(tb, dsn).Exec(tb.Context(), "CREATE SCHEMA "+name); err != nil {
		tb.Fatal(err)
	}
	return "unix", filepath.Join(cluster, ".s.PGSQL.5432"), dsn + " search_path=" + name
}
