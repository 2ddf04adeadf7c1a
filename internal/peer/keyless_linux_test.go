package peer_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/memstore"
)

// A server without keys answers processes of its own user. A proxy of another user that
// sends no forwarding headers, such as nginx by default, learns nothing about names.
func TestKeylessServerAnswersItsOwnUser(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	reg, err := core.Open(store, dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	keyless := server.New(server.Config{Registry: reg, Store: store, LocalOnly: true})
	go func() { stopped <- keyless.Run(ctx, listener, server.Timeouts{}) }()
	t.Cleanup(func() {
		stop()
		<-stopped
	})
	ask := func(path string) (status int) {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Error(err)
			return 0
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: "+listener.Addr().String()+"\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	if status := ask("/v1/names"); status != http.StatusOK {
		t.Errorf("the server's own user gets %d", status)
	}
	asNobody(t, func() {
		for path, want := range map[string]int{"/v1/names": http.StatusForbidden, "/metrics": http.StatusForbidden, "/healthz": http.StatusOK} {
			if status := ask(path); status != want {
				t.Errorf("another user gets %d for %s, want %d", status, path, want)
			}
		}
	})
}
