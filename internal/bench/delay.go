//go:build unix

package bench

import (
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// delayed returns the DSN of the same database, with answers that come later by the lab's
// commit delay.
func (l *lab) delayed(dsn string) string {
	l.Helper()
	if l.delay == 0 {
		return dsn
	}
	cfg, err := pgx.ParseConfig(dsn)
	l.must(err)
	dir, err := os.MkdirTemp("", "dibs-delay-") // short, because the path of a socket must be
	l.must(err)
	socket := ".s.PGSQL." + "5432"
	listener, err := net.Listen("unix", filepath.Join(dir, socket))
	l.must(err)
	l.Cleanup(func() {
		_ = listener.Close()
		_ = os.RemoveAll(dir)
	})
	go serveDelayed(listener, filepath.Join(cfg.Host, socket), l.delay)
	u, err := url.Parse(dsn)
	l.must(err)
	query := u.Query()
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	return u.String()
}

// serveDelayed passes connections on until the listener is closed. Answers arrive later by
// the delay, as if each commit took so much longer: on a slow disk, or with a standby far away.
// Connections do not share a delay, and it costs no processor.
func serveDelayed(listener net.Listener, address string, delay time.Duration) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", address)
		if err != nil {
			_ = client.Close()
			continue
		}
		go func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		}()
		go func() {
			_ = passLater(client, server, delay)
			_ = client.Close()
		}()
	}
}

// passLater copies what the server sends, each piece after the delay.
func passLater(client io.Writer, server io.Reader, delay time.Duration) error {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 16<<10)
			n, err := server.Read(buffer)
			if n > 0 {
				pieces <- piece{time.Now().Add(delay), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	var failed error
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		_, err := client.Write(p.data)
		failed = errors.Join(failed, err)
	}
	return failed
}
