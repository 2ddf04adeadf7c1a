package tlsfiles_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/authtest"
	"github.com/calldibs/dibs/internal/logtest"
	"github.com/calldibs/dibs/internal/tlsfiles"
)

// rig is a server with certificates in files.
type rig struct {
	testing.TB
	authority *authtest.Authority
	folder    string
	files     tlsfiles.Files
	reloader  *tlsfiles.Reloader
	address   string
	ahead     atomic.Int64 // how far the clock is ahead, in nanoseconds
	log       logtest.Buffer
}

// logged returns how often a text occurs in the log.
func (r *rig) logged(text string) int { return strings.Count(r.log.String(), text) }

func newRig(tb testing.TB, change ...func(*tlsfiles.Files)) *rig {
	tb.Helper()
	r := &rig{TB: tb, authority: authtest.NewAuthority(tb), folder: tb.TempDir()}
	r.files.Certificate, r.files.Key = r.authority.Server(tb, "first").Write(tb, r.folder, "server")
	r.files.ClientCA = filepath.Join(r.folder, "clients.pem")
	authtest.WriteFile(tb, r.files.ClientCA, r.authority.PEM)
	for _, c := range change {
		c(&r.files)
	}
	var err error
	if r.reloader, err = tlsfiles.Open(r.files, slog.New(slog.NewTextHandler(&r.log, nil))); err != nil {
		tb.Fatal(err)
	}
	begin := time.Now()
	r.reloader.SetClock(func() time.Time { return begin.Add(time.Duration(r.ahead.Load())) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %d", r.Proto, len(r.TLS.VerifiedChains))
	}))
	_ = server.Listener.Close()
	server.Listener = tls.NewListener(l, r.reloader.Config())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	tb.Cleanup(server.Close)
	r.address = l.Addr().String()
	return r
}

// later advances the clock to the next check of the files.
func (r *rig) later() { r.ahead.Add(int64(time.Second)) }

// shake opens a connection, and returns the common name of the server's certificate.
func (r *rig) shake() string {
	r.Helper()
	conn, err := tls.Dial("tcp", r.address, &tls.Config{RootCAs: r.authority.Pool()})
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// get sends a request, from a client with these certificates.
func (r *rig) get(certificates ...tls.Certificate) (string, error) {
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: r.authority.Pool(), Certificates: certificates}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("https://" + r.address)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func TestServe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if got, err := r.get(); got != "HTTP/2.0 0" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := tls.Dial("tcp", r.address, &tls.Config{RootCAs: r.authority.Pool(), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
	old := &tls.Config{RootCAs: r.authority.Pool(), MaxVersion: tls.VersionTLS12}
	if conn, err := tls.Dial("tcp", r.address, old); err != nil {
		t.Errorf("TLS 1.2: %v", err)
	} else {
		_ = conn.Close()
	}
	strict := newRig(t, func(f *tlsfiles.Files) { f.MinVersion = tls.VersionTLS13 })
	old.RootCAs = strict.authority.Pool()
	if _, err := tls.Dial("tcp", strict.address, old); err == nil {
		t.Error("TLS 1.2 is accepted where 1.3 is the minimum")
	}
}

// New connections use a new pair; open ones are not affected.
func TestReload(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	open, err := tls.Dial("tcp", r.address, &tls.Config{RootCAs: r.authority.Pool()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Close() }()
	r.authority.Server(t, "second").Write(t, r.folder, "server")
	if got := r.shake(); got != "first" {
		t.Errorf("the files are checked more than once a second: %s", got)
	}
	r.later()
	if got := r.shake(); got != "second" {
		t.Errorf("a new pair is not used: %s", got)
	}
	r.authority.Server(t, "third").Write(t, r.folder, "server")
	r.reloader.Reload()
	if got := r.shake(); got != "third" {
		t.Errorf("a new pair is not used after Reload: %s", got)
	}
	fmt.Fprintf(open, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(open), nil)
	if err != nil {
		t.Fatalf("an open connection was closed: %v", err)
	}
	_ = response.Body.Close()
}

// If new files are not valid, the previous certificates stay in use, and the error is
// logged once.
func TestBrokenReload(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	next := r.authority.Server(t, "next")
	for what, breaks := range map[string]func(){
		"not PEM":                           func() { authtest.WriteFile(t, r.files.Certificate, []byte("hello")) },
		"an empty file":                     func() { authtest.WriteFile(t, r.files.Key, nil) },
		"a missing file":                    func() { _ = os.Remove(r.files.Key) },
		"half of a new pair":                func() { authtest.WriteFile(t, r.files.Certificate, next.Certificate) },
		"another key":                       func() { authtest.WriteFile(t, r.files.Key, r.authority.Server(t, "x").Key) },
		"a key in place of the certificate": func() { authtest.WriteFile(t, r.files.Certificate, next.Key) },
	} {
		breaks()
		r.later()
		if got := r.shake(); got != "first" {
			t.Errorf("%s: %s is in use", what, got)
		}
	}
	r.later()
	before := r.logged("level=ERROR")
	r.later()
	r.shake()
	if after := r.logged("level=ERROR"); before == 0 || after != before {
		t.Errorf("%d errors in the log, then %d", before, after)
	}
	if r.logged("PRIVATE") > 0 {
		t.Error("the key is in the log")
	}
	next.Write(t, r.folder, "server")
	r.later()
	if got := r.shake(); got != "next" {
		t.Errorf("a whole pair is not used: %s", got)
	}
}

// Concurrent handshakes succeed while files are replaced.
func TestConcurrentReload(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			for range 25 {
				r.shake()
				r.later()
			}
		})
		r.authority.Server(t, fmt.Sprint(n)).Write(t, r.folder, "server")
	}
	group.Wait()
	r.later()
	if got := r.shake(); got != "3" {
		t.Errorf("%s is in use at the end", got)
	}
}

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(time.Hour)
	for _, c := range []struct {
		clients                                tlsfiles.Clients
		none, good, untrusted, expired, server string // the answer to each; empty means no connection
	}{
		{tlsfiles.Off, "HTTP/2.0 0", "HTTP/2.0 0", "HTTP/2.0 0", "HTTP/2.0 0", "HTTP/2.0 0"},
		{tlsfiles.Optional, "HTTP/2.0 0", "HTTP/2.0 1", "", "", ""},
		{tlsfiles.Required, "", "HTTP/2.0 1", "", "", ""},
	} {
		t.Run(string(c.clients), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(f *tlsfiles.Files) { f.Clients = c.clients })
			for what, shown := range map[string]struct {
				want         string
				certificates []tls.Certificate
			}{
				"none":        {c.none, nil},
				"good":        {c.good, []tls.Certificate{r.authority.Client(t, "c", "", "", end).TLS(t)}},
				"untrusted":   {c.untrusted, []tls.Certificate{authtest.NewAuthority(t).Client(t, "c", "", "", end).TLS(t)}},
				"expired":     {c.expired, []tls.Certificate{r.authority.Client(t, "c", "", "", time.Now().Add(-time.Hour)).TLS(t)}},
				"of a server": {c.server, []tls.Certificate{r.authority.Server(t, "c").TLS(t)}},
			} {
				got, err := r.get(shown.certificates...)
				if got != shown.want || (err == nil) != (shown.want != "") {
					t.Errorf("%s: %q, %v, want %q", what, got, err, shown.want)
				}
			}
		})
	}
}

// New connections do not accept certificates of a removed authority.
func TestAuthorityIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(f *tlsfiles.Files) { f.Clients = tlsfiles.Required })
	client := r.authority.Client(t, "c", "", "", time.Now().Add(time.Hour)).TLS(t)
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: r.authority.Pool(), ClientSessionCache: tls.NewLRUClientSessionCache(10),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &client, nil },
	}}
	get := func() error {
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport}).Get("https://" + r.address)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		return err
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	authtest.WriteFile(t, r.files.ClientCA, authtest.NewAuthority(t).PEM)
	r.later()
	if err := get(); err == nil {
		t.Error("a client of the old authority is accepted")
	}
}

func TestInvalidFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "file.pem")
		authtest.WriteFile(t, path, []byte(text))
		return path
	}
	junk := "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"
	for want, files := range map[string]tlsfiles.Files{
		"open nowhere.crt: no such file":          {Certificate: "nowhere.crt", Key: r.files.Key},
		"open nowhere.key: no such file":          {Certificate: r.files.Certificate, Key: "nowhere.key"},
		"cannot load the certificate ":            {Certificate: r.files.Key, Key: r.files.Certificate},
		"has no certificate in it":                {Certificate: r.files.Certificate, Key: r.files.Key, ClientCA: write("hello"), Clients: tlsfiles.Optional},
		"has a certificate that cannot be parsed": {Certificate: r.files.Certificate, Key: r.files.Key, ClientCA: write(junk), Clients: tlsfiles.Optional},
		": is a directory":                        {Certificate: r.files.Certificate, Key: r.files.Key, ClientCA: r.folder, Clients: tlsfiles.Required},
	} {
		if _, err := tlsfiles.Open(files, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := (tlsfiles.Files{Certificate: r.files.Certificate, Key: r.files.Key, ClientCA: "nowhere"}).Load(); err != nil {
		t.Errorf("authorities that are not used: %v", err)
	}
}
