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
)

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
