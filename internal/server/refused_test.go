package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/authtest"
)

// A failed sign-in gets the reason, as in RFC 6750, and is counted by reason. Neither response nor
// log repeats what was sent.
func TestRefusedSignIns(t *testing.T) {
	t.Parallel()
	notRaced(t)
	g := newSignInRig(t, visitors{"alice": {{Verbs: verbs(access.All), Namespaces: []string{"*"}}}})
	over := authtest.Claims{"exp": time.Now().Add(-time.Hour).Unix()}
	stranger := g.authority.Client(t, "mallory", "mallory.example.com", "", time.Now().Add(time.Hour)).TLS(t)
	good := g.secrets["token alice"]
	for _, c := range []struct {
		what   string
		client *http.Client
		header string
		reason access.Reason
		shown  bool // the request had an invalid secret
	}{
		{"nothing", g.clientWith(), "", access.NoCredentials, false},
		{"another scheme", g.clientWith(), "Basic YWxpY2U6c2VjcmV0", access.NoCredentials, false},
		{"an empty key", g.clientWith(), "Bearer ", access.NoCredentials, false},
		{"a made-up key", g.clientWith(), "Bearer dibs_aaaaaaaa_" + strings.Repeat("a", 44), access.UnknownKey, true},
		{"a word", g.clientWith(), "Bearer hunter2", access.UnknownKey, true},
		{"not signed", g.clientWith(), "Bearer " + authtest.Unsigned(t, "none", "", g.issuer.Claims("alice", nil)), access.TokenAlgorithm, true},
		{"another's audience", g.clientWith(), "Bearer " + g.issuer.Token(t, "alice", authtest.Claims{"aud": "billing"}), access.TokenAudience, true},
		{"another issuer", g.clientWith(), "Bearer " + authtest.NewIssuer(t).Token(t, "alice", nil), access.TokenIssuer, true},
		{"an unknown key", g.clientWith(), "Bearer " + authtest.Sign(t, authtest.NewKey(t, "x", jose.ES256), g.issuer.Claims("alice", nil)), access.TokenSignature, true},
		{"over", g.clientWith(), "Bearer " + g.issuer.Token(t, "alice", over), access.TokenExpired, true},
		{"huge", g.clientWith(), "Bearer " + g.issuer.Token(t, "alice", authtest.Claims{"x": strings.Repeat("x", 20_000)}), access.TokenTooLarge, true},
		{"nonsense", g.clientWith(), "Bearer a.b.c", access.TokenMalformed, true},
		{"an unknown certificate", g.clientWith(stranger), "", access.UnknownCertificate, false},
		// The Authorization header decides; a certificate beside it does not help.
		{"a certificate, and a bad key", g.callers["certificate alice"], "Bearer hunter2", access.UnknownKey, true},
	} {
		seen := *g.rig
		seen.client = c.client
		metric := `dibs_http_denied_total{reason="` + string(c.reason) + `"}`
		before := g.metric(metric)
		header := make(http.Header)
		if c.header != "" {
			header.Set("Authorization", c.header)
		}
		for _, path := range []string{"/v1/names", "/metrics"} {
			res, text := seen.send(http.MethodGet, path, header, "")
			want := `Bearer realm="dibs"`
			if c.shown {
				want += `, error="invalid_token"`
			}
			if res.status != http.StatusUnauthorized || res.header.Get("WWW-Authenticate") != want || !strings.Contains(text, `"UNAUTHORIZED"`) {
				t.Errorf("%s: %d %s %s", c.what, res.status, res.header.Get("WWW-Authenticate"), text)
			}
			for part := range strings.FieldsFuncSeq(strings.TrimPrefix(c.header, "Bearer "), func(r rune) bool { return r == '.' }) {
				if len(part) > 5 && strings.Contains(text+g.log.String(), part) {
					t.Errorf("%s: the response repeats what was sent: %s", c.what, text)
				}
			}
		}
		if got := g.metric(metric) - before; got != 2 {
			t.Errorf("%s: %s rose by %v", c.what, metric, got)
		}
	}
	if strings.Contains(g.log.String(), good) {
		t.Error("a token is in the log")
	}
}

// A key beside a certificate decides, not the certificate.
func TestKeyBeforeCertificate(t *testing.T) {
	t.Parallel()
	all := []access.Grant{{Verbs: verbs(access.All), Namespaces: []string{"*"}}}
	g := newSignInRig(t, visitors{"alice": all, "bob": all})
	for want, header := range map[string]string{
		"cert:dns=alice.example.com":    "",
		"bob":                           "Bearer " + g.secrets["key bob"],
		"oidc:" + g.issuer.URL + "#bob": "bearer  " + g.secrets["token bob"],
	} {
		seen := *g.rig
		seen.client = g.callers["certificate alice"]
		h := http.Header{"Idempotency-Key": {someToken}}
		if header != "" {
			h.Set("Authorization", header)
		}
		value := "of-" + strings.NewReplacer(":", "-", "/", "-", "#", "-").Replace(want)
		if res, text := seen.send(http.MethodPost, "/v1/reservations", h, `{"namespace": "other", "value": "`+value+`"}`); res.status != http.StatusCreated {
			t.Fatal(text)
		}
		_, text := seen.send(http.MethodGet, "/v1/events?namespace=other&limit=1000", nil, "")
		var page struct {
			Events []struct{ Key, Actor string }
		}
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			t.Fatal(err)
		}
		last := page.Events[len(page.Events)-1]
		if last.Actor != want || last.Key != "other:"+value {
			t.Errorf("%+v, want %s", last, want)
		}
	}
}

// A request with two Authorization headers is refused: a proxy in front may have checked the
// other one.
func TestTwoAuthorizations(t *testing.T) {
	t.Parallel()
	notRaced(t)
	g := newSignInRig(t, visitors{"alice": {{Verbs: verbs(access.Read), Namespaces: []string{"*"}}}, "bob": {{Verbs: verbs(access.Read), Namespaces: []string{"*"}}}})
	bearer := func(way, name string) string { return "Bearer " + g.secrets[way+" "+name] }
	for what, values := range map[string][]string{
		"two keys":         {bearer("key", "alice"), bearer("key", "bob")},
		"the same twice":   {bearer("key", "alice"), bearer("key", "alice")},
		"a key, and none":  {bearer("key", "alice"), ""},
		"none, and a key":  {"", bearer("key", "alice")},
		"a key of another": {"Basic YTpi", bearer("key", "alice")},
		"a token, a key":   {bearer("token", "alice"), bearer("key", "alice")},
	} {
		for _, way := range waysToSignIn {
			seen, _ := g.as(way, "alice") // with the certificate too
			res, text := seen.send(http.MethodGet, "/v1/check/slug/a", http.Header{"Authorization": values}, "")
			if res.status != http.StatusUnauthorized || !strings.Contains(text, "more than one Authorization") {
				t.Errorf("%s by %s: %d %s", what, way, res.status, text)
			}
		}
	}
	if got := g.metric(`dibs_http_denied_total{reason="several_credentials"}`); got != 18 {
		t.Errorf("%v were counted", got)
	}
}

// While an issuer is down its tokens get 503 with Retry-After; other callers are not affected.
func TestIssuerIsDown(t *testing.T) {
	t.Parallel()
	g := newSignInRig(t, visitors{"alice": {{Verbs: verbs(access.Read), Namespaces: []string{"*"}}}})
	g.issuer.Down.Store(true)
	seen, header := g.as("token", "alice")
	res, text := seen.send(http.MethodGet, "/v1/check/slug/a", header, "")
	if res.status != http.StatusServiceUnavailable || res.header.Get("Retry-After") == "" || !strings.Contains(text, `"UNAVAILABLE"`) {
		t.Errorf("%d %v %s", res.status, res.header, text)
	}
	for _, way := range []string{"key", "certificate"} {
		if status, code := g.ask(way, "alice", http.MethodGet, "/v1/check/slug/a", ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", way, status, code)
		}
	}
	if got := g.metric(`dibs_http_denied_total{reason="issuer_unavailable"}`); got != 1 {
		t.Errorf("%v were counted", got)
	}
	g.issuer.Down.Store(false)
	eventually(t, "its tokens are accepted again", func() bool {
		status, _ := g.ask("token", "alice", http.MethodGet, "/v1/check/slug/a", "")
		return status == http.StatusOK
	})
}

// A stream ends when its token expires.
func TestStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	g := newSignInRig(t, visitors{"alice": {{Verbs: verbs(access.All), Namespaces: []string{"*"}}}})
	seen, header := g.as("token", "alice")
	header.Set("Accept", "text/event-stream")
	go func() {
		for g.metric("dibs_feed_streams") == 0 {
			time.Sleep(time.Millisecond)
		}
		g.ahead.Store(int64(2 * time.Hour))
	}()
	stuck := time.AfterFunc(time.Minute, g.server.Drain)             // ends streams that do not end by themselves
	res, text := seen.send(http.MethodGet, "/v1/events", header, "") // reads to the end
	if !stuck.Stop() {
		t.Error("the stream goes on")
	}
	if res.status != http.StatusOK || strings.Contains(text, "problem") {
		t.Errorf("%d %s", res.status, text)
	}
	if got := g.metric(`dibs_http_denied_total{reason="token_expired"}`); got != 1 {
		t.Errorf("%v were counted", got)
	}
}
