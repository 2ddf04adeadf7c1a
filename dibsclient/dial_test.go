package dibsclient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/authtest"
	"github.com/calldibs/dibs/memstore"
)

func TestDialChecksArguments(t *testing.T) {
	t.Parallel()
	const good = "http://localhost:8080"
	tests := []struct {
		address string
		options dibsclient.Options
		message string // empty for no error
	}{
		{good, dibsclient.Options{}, ""},
		{"https://names.example.com/registry/", dibsclient.Options{Key: "dibs_x", Retries: -1, Timeout: time.Second}, ""},
		{"http://[::1]:8080", dibsclient.Options{}, ""},
		{"", dibsclient.Options{}, "http://"},
		{"localhost:8080", dibsclient.Options{}, "http://"},
		{"ftp://localhost", dibsclient.Options{}, "http://"},
		{"http://", dibsclient.Options{}, "no host"},
		{"http://:8080", dibsclient.Options{}, "no host"},
		{"http://a b", dibsclient.Options{}, "not a URL"},
		{"http://me:hunter2@localhost", dibsclient.Options{}, "Options.Key"},
		{"http://me:hunter2@local host", dibsclient.Options{}, "not a URL"},
		{"http://localhost/?a=b", dibsclient.Options{}, "without ?"},
		{"http://localhost/#a", dibsclient.Options{}, "without ?"},
		{good, dibsclient.Options{Key: "hunter2\n"}, "Options.Key"},
		{good, dibsclient.Options{UserAgent: "ü"}, "Options.UserAgent"},
		{good, dibsclient.Options{Timeout: -1}, "negative"},
		{good, dibsclient.Options{Key: "hunter2", Token: func(context.Context) (string, error) { return "", nil }}, "only one"},
		{good, dibsclient.Options{TLS: &tls.Config{}, HTTPClient: http.DefaultClient}, "TLSClientConfig"},
	}
	for _, test := range tests {
		reg, err := dibsclient.Dial(test.address, test.options)
		switch {
		case test.message == "" && err != nil:
			t.Errorf("%q: %v", test.address, err)
		case test.message != "" && (err == nil || !strings.Contains(err.Error(), test.message) || strings.Contains(err.Error(), "hunter2")):
			t.Errorf("%q: the error is %v, want %q", test.address, err, test.message)
		}
		if reg != nil {
			_ = reg.Close()
		}
	}
}

func TestKeysAndHeaders(t *testing.T) {
	t.Parallel()
	var last http.Header
	api := newHandler(open(t, dibs.Config{}, nil), "right")
	web := httptest.NewServer(http.StripPrefix("/registry", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r.Header
		api.ServeHTTP(w, r)
	})))
	defer web.Close()

	reg := dial(t, web.URL+"/registry/", dibsclient.Options{Key: "right", UserAgent: "shop/2"})
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "a", Entity: user1}); err != nil {
		t.Fatal(err)
	}
	if last.Get("User-Agent") != "shop/2" || last.Get("Content-Type") != "application/json" {
		t.Errorf("the headers were %v", last)
	}

	wrong := dial(t, web.URL+"/registry", dibsclient.Options{Key: "wrong-key"})
	_, err := wrong.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "b", Entity: user1})
	var status *dibsclient.StatusError
	if !errors.As(err, &status) || status.Status != 401 || status.Code != "UNAUTHORIZED" || strings.Contains(err.Error(), "wrong-key") {
		t.Errorf("with a wrong key: %v", err)
	}
	elsewhere := dial(t, web.URL+"/registry/v2", dibsclient.Options{Key: "right"})
	if _, err := elsewhere.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "a"}); !errors.As(err, &status) || status.Code != "NOT_FOUND" {
		t.Errorf("at a wrong path: %v", err)
	}
	if _, err := elsewhere.Resolve(t.Context(), "slug", "a"); !errors.As(err, &status) || status.Code != "NOT_FOUND" {
		t.Errorf("resolving at a wrong path: %v", err)
	}
}

// Dial uses the caller's HTTP client and does not modify it.
func TestCallersHTTPClient(t *testing.T) {
	t.Parallel()
	r := newFixture(t, dibsclient.Options{})
	own := &http.Client{Transport: brokenTransport{}}
	reg := dial(t, r.url, dibsclient.Options{HTTPClient: own, Retries: -1})
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "a", Entity: user1}); !errors.Is(err, dibs.ErrOutcomeUnknown) || !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	if own.CheckRedirect != nil {
		t.Error("the client was modified")
	}
}

var errBroken = errors.New("broken")

type brokenTransport struct{}

func (brokenTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, errBroken }

func TestUnsupportedCalls(t *testing.T) {
	t.Parallel()
	r := newFixture(t, dibsclient.Options{})
	claim := dibs.Claim{Namespace: "slug", Value: "a", Entity: user1}
	for _, principal := range []dibs.Principal{{}, {Name: "eve", Rights: dibs.OverrideReserved | dibs.Operate}} {
		if _, err := r.As(principal).Claim(t.Context(), claim); !errors.Is(err, dibs.ErrUnsupported) {
			t.Errorf("as %v: %v", principal, err)
		}
	}
	tx := r.InTransaction(func(s dibs.Store) (dibs.Store, error) { return s, nil })
	if _, err := tx.Claim(t.Context(), claim); !errors.Is(err, dibs.ErrUnsupported) {
		t.Errorf("in a transaction: %v", err)
	}
	for _, command := range []dibs.Command{nil, (*dibs.Claim)(nil)} {
		if _, err := r.Apply(t.Context(), command); !errors.Is(err, dibs.ErrInvalidValue) {
			t.Errorf("no command: %v", err)
		}
	}
	if n := r.faults.requests(); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// Package json would replace invalid UTF-8.
func TestDoesNotSendInvalidUTF8(t *testing.T) {
	t.Parallel()
	r := newFixture(t, dibsclient.Options{})
	tests := []struct {
		command dibs.Command
		want    error
	}{
		{dibs.Claim{Namespace: "slug", Value: "\xff", Entity: user1}, dibs.ErrInvalidValue},
		{dibs.Claim{Namespace: "\xff", Value: "a", Entity: user1}, dibs.ErrInvalidNamespace},
		{dibs.Claim{Namespace: "slug", Value: "a", Entity: dibs.Entity{Type: "user", ID: "\xff"}}, dibs.ErrInvalidEntity},
		{dibs.Claim{Namespace: "slug", Value: "a", Entity: user1, Meta: map[string]string{"\xff": ""}}, dibs.ErrInvalidValue},
		{dibs.Reserve{Namespace: "slug", Value: "a", Token: token1 + "\xff"}, dibs.ErrInvalidToken},
		{dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "\xff"}}}, dibs.ErrInvalidValue},
		{dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "a", Entity: dibs.Entity{Type: "\xff", ID: "1"}}, B: dibs.Named{Value: "b", Entity: user1}}, dibs.ErrInvalidEntity},
	}
	for _, test := range tests {
		_, err := r.Apply(t.Context(), test.command)
		if !errors.Is(err, test.want) {
			t.Errorf("%+v: %v", test.command, err)
		}
		if _, embedded := r.server.Apply(t.Context(), test.command); !errors.Is(embedded, test.want) {
			t.Errorf("%+v, embedded: %v", test.command, embedded)
		}
	}
	if _, err := r.Entity(t.Context(), "", dibs.Entity{Type: "user", ID: "\xff"}); !errors.Is(err, dibs.ErrInvalidEntity) {
		t.Errorf("in a path: %v", err)
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	r := newFixture(t, dibsclient.Options{})
	reserve := dibs.Reserve{Namespace: "slug", Value: "a", TTL: dibs.For(time.Minute)}
	r.faults.add(dropResponse)
	name, err := r.Do(t.Context(), reserve, func(context.Context, dibs.Hold) (dibs.Entity, error) {
		r.faults.add(dropResponse) // of the confirm
		return user1, nil
	})
	if err != nil || name.State != dibs.Active || name.Entity != user1 {
		t.Fatalf("got %+v, %v", name, err)
	}
	reserve.Value = "b"
	failed := errors.New("failed")
	_, err = r.Do(t.Context(), reserve, func(context.Context, dibs.Hold) (dibs.Entity, error) { return dibs.Entity{}, failed })
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if reserved, err := r.IsReserved(t.Context(), "slug", "b"); reserved || err != nil {
		t.Errorf("the name was not released: %v", err)
	}
}

func TestRecanonicalizeReportsCollisions(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	before := openStore(t, store, dibs.Config{})
	now := openStore(t, store, dibs.Config{Default: dibs.Policy{Profile: lowerCase{}}})
	for value, entity := range map[string]dibs.Entity{"Ada": user1, "ada": user2, "Bo": user3} {
		if _, err := before.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: value, Entity: entity}); err != nil {
			t.Fatal(err)
		}
	}
	web := httptest.NewServer(newHandler(now, ""))
	defer web.Close()
	reg := dial(t, web.URL, dibsclient.Options{})

	report, err := reg.Recanonicalize(t.Context(), dibs.RecanonicalizeRequest{Namespace: "slug"})
	if !errors.Is(err, dibs.ErrNameTaken) || report.Counts[dibs.FindingCollision] != 1 || len(report.Findings) != 2 {
		t.Fatalf("got %+v, %v", report, err)
	}
	if report.Findings[0].With == nil && report.Findings[1].With == nil {
		t.Errorf("the other name is missing: %+v", report.Findings)
	}
	if _, err := now.Decommission(t.Context(), dibs.Decommission{Namespace: "slug", Value: "ada", Entity: user2}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	progress := func(done, total int) {
		if calls++; done != 2 || total != 2 {
			t.Errorf("%d of %d are done, want both", done, total)
		}
	}
	report, err = reg.Recanonicalize(t.Context(), dibs.RecanonicalizeRequest{Namespace: "slug", Progress: progress})
	if err != nil || report.Done != 2 || calls != 1 {
		t.Errorf("got %+v, %v, after %d calls of Progress", report, err, calls)
	}
}

// The client calls Options.Token for each attempt, so that an expired token is replaced.
func TestTokenSource(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(newHandler(open(t, dibs.Config{}, nil), "second"))
	t.Cleanup(api.Close)
	var asked atomic.Int64
	reg := dial(t, api.URL, dibsclient.Options{Retries: -1, Token: func(context.Context) (string, error) {
		if asked.Add(1) == 1 {
			return "first", nil
		}
		return "second", nil
	}})
	var refused *dibsclient.StatusError
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "a", Entity: user1}); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
		t.Errorf("the first token: %v", err)
	}
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "a", Entity: user1}); err != nil {
		t.Errorf("the second token: %v", err)
	}
	for event, err := range reg.Watch(t.Context(), dibs.FeedQuery{}) {
		if err != nil || event.Key() != "slug:a" {
			t.Errorf("%v, %v", event, err)
		}
		break
	}
	if asked.Load() != 3 {
		t.Errorf("Token was called %d times", asked.Load())
	}
}

// Without a token the client sends nothing, and tries again.
func TestNoToken(t *testing.T) {
	t.Parallel()
	var sent, asked atomic.Int64
	api := newHandler(open(t, dibs.Config{}, nil), "good")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	failure := errors.New("the issuer does not respond")
	token := func(context.Context) (string, error) { asked.Add(1); return "", failure }
	reg := dial(t, web.URL, dibsclient.Options{Retries: 2, Token: func(ctx context.Context) (string, error) { return token(ctx) }})
	claim := dibs.Claim{Namespace: "slug", Value: "a", Entity: user1}
	if _, err := reg.Claim(t.Context(), claim); !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, failure) {
		t.Errorf("%v", err)
	}
	if sent.Load() != 0 || asked.Load() != 3 {
		t.Errorf("%d requests were sent, Token was called %d times", sent.Load(), asked.Load())
	}
	for _, bad := range []string{"", "hunter2\n"} {
		token = func(context.Context) (string, error) { return bad, nil }
		if _, err := reg.Claim(t.Context(), claim); !errors.Is(err, dibs.ErrUnavailable) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	tries := 0
	token = func(context.Context) (string, error) {
		if tries++; tries < 3 {
			return "", failure
		}
		return "good", nil
	}
	if _, err := reg.Claim(t.Context(), claim); err != nil {
		t.Errorf("the third time: %v", err)
	}
}

// The client trusts the configured authorities and sends its certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	authority := authtest.NewAuthority(t)
	var seen atomic.Value
	api := newHandler(open(t, dibs.Config{}, nil), "")
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Proto + " " + r.TLS.PeerCertificates[0].Subject.CommonName)
		api.ServeHTTP(w, r)
	}))
	web.EnableHTTP2 = true
	web.TLS = &tls.Config{
		Certificates: []tls.Certificate{authority.Server(t, "server").TLS(t)},
		ClientCAs:    authority.Pool(), ClientAuth: tls.RequireAndVerifyClientCert,
	}
	web.StartTLS()
	t.Cleanup(web.Close)
	certificate := authority.Client(t, "orders", "", "", time.Now().Add(time.Hour)).TLS(t)
	for what, c := range map[string]struct {
		trust *tls.Config
		good  bool
	}{
		"both":            {&tls.Config{RootCAs: authority.Pool(), Certificates: []tls.Certificate{certificate}}, true},
		"no certificate":  {&tls.Config{RootCAs: authority.Pool()}, false},
		"no authority":    {&tls.Config{Certificates: []tls.Certificate{certificate}}, false},
		"nothing":         {nil, false},
		"other authority": {&tls.Config{RootCAs: authtest.NewAuthority(t).Pool(), Certificates: []tls.Certificate{certificate}}, false},
	} {
		reg := dial(t, web.URL, dibsclient.Options{TLS: c.trust, Retries: -1})
		_, err := reg.Check(t.Context(), dibs.CheckRequest{Namespace: "slug", Values: []string{"a"}})
		if (err == nil) != c.good {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := seen.Load(); got != "HTTP/2.0 orders" {
		t.Errorf("the server saw %v", got)
	}
}
