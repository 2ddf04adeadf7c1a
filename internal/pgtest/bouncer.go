//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Bouncer starts PgBouncer in front of the cluster, in the mode "session" or "transaction" and
// with at most size sessions of the server. It returns the DSN of the database postgres behind it.
// The test is skipped if PgBouncer is not installed.
func (c *Cluster) Bouncer(tb testing.TB, mode string, size int) (dsn string) {
	tb.Helper()
	program, err := findBouncer()
	if err != nil {
		tb.Skip("PgBouncer is not installed: apt-get install --no-install-recommends pgbouncer")
	}
	h, err := newHome("", true)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(h.remove)
	dsn, err = c.startBouncer(h, program, mode, size)
	if err != nil {
		tb.Fatalf("%v; the end of its log:\n%s", err, h.logTail())
	}
	return dsn
}

// findBouncer looks into the folder of Debian, too, which users other than root may not have in
// their PATH.
func findBouncer() (string, error) {
	if program, err := exec.LookPath("pgbouncer"); err == nil {
		return program, nil
	}
	return exec.LookPath("/usr/sbin/pgbouncer")
}

func (c *Cluster) startBouncer(h *home, program, mode string, size int) (dsn string, err error) {
	settings := filepath.Join(h.dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
postgres = host=%s port=%s user=%s
[pgbouncer]
pool_mode = %s
default_pool_size = %d
max_client_conn = 1000
auth_type = any
listen_port = %s
unix_socket_dir = %s
`, c.home.dir, port, superuser, mode, size, port, h.dir)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return "", err
	}
	if user := h.credential; user != nil {
		if err := os.Chown(settings, int(user.Uid), int(user.Gid)); err != nil {
			return "", err
		}
	}
	bouncer, err := h.start(program, settings)
	if err != nil {
		return "", err
	}
	address := url.URL{
		Scheme: "postgres", User: url.User(superuser), Path: "/postgres",
		RawQuery: url.Values{"host": {h.dir}, "port": {port}, "sslmode": {"disable"}}.Encode(),
	}
	return address.String(), await("PgBouncer answers", func() (bool, error) {
		if bouncer.hasEnded() {
			return false, errors.New("PgBouncer ended at its start")
		}
		conn, err := pgx.Connect(context.Background(), address.String())
		if err == nil {
			_ = conn.Close(context.Background())
		}
		return err == nil, nil
	})
}
