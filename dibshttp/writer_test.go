package dibshttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/dibshttp"
)

// Headers are capped in every way to send a response.
func TestEveryWayToRespond(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	file := filepath.Join(t.TempDir(), "page")
	if err := os.WriteFile(file, []byte("page"), 0o600); err != nil {
		t.Fatal(err)
	}
	for way, respond := range map[string]func(w http.ResponseWriter, r *http.Request){
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"status":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
		"write":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") },
		"copy":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("page")) },
		"file":    func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) },
		"flush":   func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
		"control": func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() },
		"error":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) },
		"early hints": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		},
		"deadline": func(w http.ResponseWriter, _ *http.Request) {
			if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Error(err)
			}
		},
	} {
		url := site(t, reg, dibshttp.Config{Namespace: "slug", MaxStale: time.Minute}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=86400")
			respond(w, r)
			w.Header().Set("Cache-Control", "max-age=86400") // too late, or capped
		}))
		if got := fetch(t, http.MethodGet, url+"/the-smiths", nil).header.Get("Cache-Control"); got != "max-age=60, must-revalidate" {
			t.Errorf("%s: Cache-Control is %q", way, got)
		}
	}
}

// Early hints reach the client before the response.
func TestEarlyHints(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	url := site(t, reg, dibshttp.Config{Namespace: "slug"}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Cache-Control", "max-age=5")
	}))
	hinted := ""
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(_ int, header textproto.MIMEHeader) error {
		hinted = header.Get("Link")
		return nil
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/the-smiths", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got := res.Header.Get("Cache-Control"); hinted == "" || got != "no-cache" {
		t.Errorf("the hint is %q, Cache-Control is %q", hinted, got)
	}
}

// An application can hijack the connection, for example for WebSockets.
func TestHijack(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	url := site(t, reg, dibshttp.Config{Namespace: "slug"}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello\n")
	}))
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprintf(conn, "GET /the-smiths HTTP/1.1\r\nHost: x\r\n\r\n")
	lines := bufio.NewReader(conn)
	text, err := io.ReadAll(lines)
	if err != nil || !strings.HasSuffix(string(text), "\r\n\r\nhello\n") {
		t.Errorf("the response is %q, %v", text, err)
	}
}
