package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/authtest"
	"github.com/calldibs/dibs/internal/limit"
)

// browser is a browser at a server: it keeps cookies, and sends the headers that browsers send.
type browser struct {
	*rig
	cookies map[string]*http.Cookie
}

// sessionRig is a server with real keys, an issuer at which browsers sign in, and no other caller.
type sessionRig struct {
	*rig
	keys   *auth.KeyStore
	issuer *authtest.Issuer
	desk   *auth.Authenticator
	base   string // the URL in the redirect URL
}

func newSessionRig(tb testing.TB, local bool, change ...func(*Config)) *sessionRig {
	tb.Helper()
	g := &sessionRig{issuer: authtest.NewIssuer(tb), base: "https://names.example.com"}
	change = append(change, func(c *Config) {
		g.keys = auth.NewKeyStore(c.Store)
		g.desk = auth.NewAuthenticator(g.keys, local)
		c.Authenticate, c.SignIn = g.desk.Bearer, g.desk
	})
	g.rig = newRig(tb, inMemory, nil, change...)
	return g
}

// trustIssuer lets browsers sign in at the issuer, with these rights for one group.
func (g *sessionRig) trustIssuer(verbs ...access.Verb) {
	g.desk.Trust(auth.NewTokenVerifier([]auth.Issuer{{
		URL: g.issuer.URL, Audience: []string{"dibs"}, Leeway: time.Minute,
		Rules:   []auth.ClaimRule{{Claim: []string{"groups"}, Value: "staff", Grants: []access.Grant{{Verbs: verbs, Namespaces: []string{"*"}}}}},
		Browser: auth.Browser{ClientID: "dibs-browser", RedirectURL: g.base + auth.CallbackPath},
	}}, auth.TokenOptions{}), nil)
}

func (g *sessionRig) key(name string, verbs ...access.Verb) string {
	g.Helper()
	_, secret, err := g.keys.Create(g.Context(), auth.Key{Name: name, Grants: []access.Grant{{Verbs: verbs, Namespaces: []string{"*"}}}})
	if err != nil {
		g.Fatal(err)
	}
	return secret
}

func (g *sessionRig) browser() *browser {
	return &browser{rig: g.rig, cookies: make(map[string]*http.Cookie)}
}

// send sends a request as a page of the server does. The headers change it.
func (b *browser) send(method, path, body string, headers ...string) (answered, map[string]any) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), method, b.http.URL+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if method != http.MethodGet {
		request.Header.Set("Origin", b.http.URL)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	for _, c := range b.cookies {
		request.AddCookie(c)
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer map[string]any
	_ = json.NewDecoder(response.Body).Decode(&answer)
	for _, c := range response.Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c
		}
	}
	return answered{response.StatusCode, response.Header}, answer
}

// want sends a request and checks the status.
func (b *browser) want(status int, method, path, body string, headers ...string) map[string]any {
	b.Helper()
	response, answer := b.send(method, path, body, headers...)
	if response.StatusCode != status {
		b.Fatalf("%s %s: %d %v, want %d", method, path, response.StatusCode, answer, status)
	}
	return answer
}

const claimBody = `{"namespace": "slug", "value": "spring", "entity": {"type": "user", "id": "1"}}`

func TestSignInWithAKey(t *testing.T) {
	t.Parallel()
	g := newSessionRig(t, true)
	b := g.browser()
	if answer := b.want(200, "GET", "/auth/methods", ""); answer["required"] != false {
		t.Errorf("a server without keys says %v", answer)
	}
	if answer := b.want(200, "GET", "/v1/me", ""); answer["signedInBy"] != "none" || answer["readOnly"] != false {
		t.Errorf("a server without keys says %v", answer)
	}
	secret := g.key("support", access.Read, access.Claim)
	if answer := b.want(200, "GET", "/auth/methods", ""); answer["required"] != true || answer["key"] != true {
		t.Errorf("a server with a key says %v", answer)
	}
	b.want(401, "GET", "/v1/me", "")
	b.want(401, "POST", "/auth/sign-in", `{"key": "dibs_wrong"}`)
	b.want(422, "POST", "/auth/sign-in", `{}`)
	b.want(422, "POST", "/auth/sign-in", `{"key": "`+secret+`", "more": 1}`)
	if len(b.cookies) != 0 {
		t.Fatalf("cookies without a sign-in: %v", b.cookies)
	}
	answer := b.want(200, "POST", "/auth/sign-in", `{"key": " `+secret+`\n"}`)
	if answer["principal"] != "support" || answer["signedInBy"] != "session" || answer["expiresAt"] == nil {
		t.Errorf("the sign-in answers %v", answer)
	}
	if answer := b.want(200, "GET", "/v1/me", ""); answer["principal"] != "support" || answer["readOnly"] != false {
		t.Errorf("the session is of %v", answer)
	}
	if answer := b.want(201, "POST", "/v1/claims", claimBody); answer["replayed"] != false {
		t.Errorf("a claim: %v", answer)
	}
	// An Authorization header alone decides.
	b.want(401, "GET", "/v1/me", "", "Authorization", "Bearer dibs_wrong")
	for _, c := range b.cookies {
		if c.Path != "/" || !c.HttpOnly || c.Secure || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.Value, secret[5:]) {
			t.Errorf("the cookie is %+v", c)
		}
	}

	stolen := g.browser()
	stolen.cookies = maps.Clone(b.cookies)
	b.want(204, "POST", "/auth/sign-out", "")
	if len(b.cookies) != 0 {
		t.Errorf("after the sign-out there is %v", b.cookies)
	}
	stolen.want(401, "GET", "/v1/me", "") // the session itself is over
	if len(stolen.cookies) != 0 {
		t.Error("the cookie of a session that is over stays")
	}
	b.want(204, "POST", "/auth/sign-out", "") // nothing is left to do
	if strings.Contains(g.log.String(), secret) {
		t.Error("the key is in the log")
	}
}

func TestSessionEndsWithItsKey(t *testing.T) {
	t.Parallel()
	g := newSessionRig(t, false)
	secret := g.key("support", access.Read)
	b := g.browser()
	b.want(200, "POST", "/auth/sign-in", `{"key": "`+secret+`"}`)
	if answer := b.want(200, "GET", "/v1/me", ""); answer["readOnly"] != true {
		t.Errorf("a key that may only read: %v", answer)
	}
	b.want(403, "POST", "/v1/claims", claimBody)
	if err := g.keys.Revoke(t.Context(), "support"); err != nil {
		t.Fatal(err)
	}
	b.want(401, "GET", "/v1/me", "")
	g.key("support", access.All) // another key of the same name
	b.cookies = map[string]*http.Cookie{}
	b.want(401, "GET", "/v1/me", "")
}

func TestSessionOutlastsTheServer(t *testing.T) {
	t.Parallel()
	g := newSessionRig(t, false)
	b := g.browser()
	b.want(200, "POST", "/auth/sign-in", `{"key": "`+g.key("support", access.Read)+`"}`)
	other := auth.NewAuthenticator(auth.NewKeyStore(g.store), false)
	for _, c := range b.cookies {
		session, err := other.Session(t.Context(), c.Value)
		if err != nil || session.Caller.Name != "support" || time.Until(session.ExpiresAt) > auth.MaxSession {
			t.Errorf("another server says %+v, %v", session, err)
		}
	}
}

func TestSessionIsForOwnPagesOnly(t *testing.T) {
	t.Parallel()
	g := newSessionRig(t, false)
	b := g.browser()
	body := `{"key": "` + g.key("support", access.All) + `"}`
	b.want(403, "POST", "/auth/sign-in", body, "Origin", "https://evil.example.com", "Sec-Fetch-Site", "cross-site")
	b.want(415, "POST", "/auth/sign-in", body, "Content-Type", "text/plain")
	b.want(200, "POST", "/auth/sign-in", body)
	for _, site := range []string{"cross-site", "same-site"} {
		b.want(403, "GET", "/v1/me", "", "Sec-Fetch-Site", site)
		b.want(403, "POST", "/v1/claims", claimBody, "Sec-Fetch-Site", site)
		b.want(403, "POST", "/auth/sign-out", "", "Sec-Fetch-Site", site)
	}
	b.want(200, "GET", "/v1/me", "", "Sec-Fetch-Site", "none") // typed in the address bar
	b.want(201, "POST", "/v1/claims", claimBody)
}

func TestSessionCookieIsSecureBehindTLS(t *testing.T) {
	t.Parallel()
	g := newSessionRig(t, false)
	b := g.browser()
	body := `{"key": "` + g.key("support", access.All) + `"}`
	// A proxy in front that has TLS: the page has an https origin.
	b.want(200, "POST", "/auth/sign-in", body, "Origin", "https://"+strings.TrimPrefix(g.http.URL, "http://"))
	for name, c := range b.cookies {
		if !c.Secure || !strings.HasPrefix(name, "__Host-") {
			t.Errorf("the cookie is %+v", c)
		}
	}
	b.want(200, "GET", "/v1/me", "")
	for name, c := range b.cookies { // one more from a neighbour
		twin := *c
		twin.Value = strings.Repeat("a", len(c.Value))
		b.cookies[name+"2"] = &twin
	}
	b.want(401, "GET", "/v1/me", "")
}

// An old session must not lock its address out.
func TestOldSessionsAreNoFailedSignIns(t *testing.T) {
	t.Parallel()
	g := newSessionRig(t, false, limited(limit.Limits{SignIn: perHour(2)}))
	secret := g.key("support", access.Read)
	b := g.browser()
	const header, home = "X-Forwarded-For", "203.0.113.1"
	b.want(200, "POST", "/auth/sign-in", `{"key": "`+secret+`"}`, header, home)
	kept := maps.Clone(b.cookies)
	b.want(204, "POST", "/auth/sign-out", "", header, home)
	for range 5 {
		b.cookies = maps.Clone(kept)
		b.want(401, "GET", "/v1/me", "", header, home)
	}
	for range 2 {
		b.want(401, "POST", "/auth/sign-in", `{"key": "dibs_wrong"}`, header, home)
	}
	b.want(429, "POST", "/auth/sign-in", `{"key": "dibs_wrong"}`, header, home)
	for _, status := range []int{401, 401, 429} { // made-up ids are
		b.cookies = maps.Clone(kept)
		for _, c := range b.cookies {
			c.Value = strings.Repeat("a", len(c.Value))
		}
		b.want(status, "GET", "/v1/me", "", header, "203.0.113.2")
	}
}

func TestSignInAtAnIssuer(t *testing.T) {
	t.Parallel()
	g := newSessionRig(t, false)
	g.trustIssuer(access.Read)
	b := g.browser()
	start := "/auth/oidc/start?" + url.Values{"issuer": {g.issuer.URL}, "return": {"/names/slug/a?x=1"}}.Encode()
	begin := func() string {
		t.Helper()
		response, _ := b.send("GET", start, "")
		page := response.Header.Get("Location")
		if response.StatusCode != http.StatusFound || !strings.HasPrefix(page, g.issuer.URL+"/authorize?") {
			t.Fatalf("%d to %s", response.StatusCode, page)
		}
		return page
	}
	// back sends the browser from the issuer, which is another site, to the server.
	back := func(target string) string {
		t.Helper()
		response, _ := b.send("GET", strings.TrimPrefix(target, g.base), "", "Sec-Fetch-Site", "cross-site")
		if response.StatusCode != http.StatusFound {
			t.Fatalf("the callback answers %d", response.StatusCode)
		}
		return response.Header.Get("Location")
	}
	staff := authtest.Claims{"groups": []string{"staff"}}
	if methods := b.want(200, "GET", "/auth/methods", ""); !strings.Contains(toJSON(methods), g.issuer.URL) {
		t.Errorf("the methods are %v", methods)
	}

	if to := back(g.issuer.Authorize(begin(), "alice", staff)); to != "/names/slug/a?x=1" {
		t.Fatalf("the browser goes to %s", to)
	}
	answer := b.want(200, "GET", "/v1/me", "")
	if answer["principal"] != "oidc:"+g.issuer.URL+"#alice" || answer["readOnly"] != true || answer["signedInBy"] != "session" {
		t.Errorf("the session is of %v", answer)
	}
	// The session follows the configuration.
	g.trustIssuer(access.All)
	if answer := b.want(200, "GET", "/v1/me", ""); answer["readOnly"] != false {
		t.Errorf("after a change of the rules: %v", answer)
	}
	b.want(204, "POST", "/auth/sign-out", "")

	for what, c := range map[string]struct {
		target func() string
		want   string
	}{
		"no rights": {func() string { return g.issuer.Authorize(begin(), "eve", nil) }, "forbidden"},
		"other nonce": {func() string {
			return g.issuer.Authorize(begin(), "alice", authtest.Claims{"nonce": "x", "groups": []string{"staff"}})
		}, "failed"},
		"other audience": {func() string {
			return g.issuer.Authorize(begin(), "alice", authtest.Claims{"aud": "dibs", "groups": []string{"staff"}})
		}, "failed"},
		"expired token": {func() string {
			return g.issuer.Authorize(begin(), "alice", authtest.Claims{"exp": 1, "groups": []string{"staff"}})
		}, "failed"},
		"other state": {func() string {
			return strings.Replace(g.issuer.Authorize(begin(), "alice", staff), "state=", "state=0", 1)
		}, "expired"},
		"other issuer": {func() string {
			return strings.Replace(g.issuer.Authorize(begin(), "alice", staff), "iss=", "iss=https%3A%2F%2Fother", 1)
		}, "failed"},
		"made-up code": {func() string {
			u, _ := url.Parse(g.issuer.Authorize(begin(), "alice", staff))
			q := u.Query()
			q.Set("code", "made-up")
			return g.base + u.Path + "?" + q.Encode()
		}, "failed"},
		"denied": {func() string {
			u, _ := url.Parse(g.issuer.Authorize(begin(), "alice", staff))
			q := u.Query()
			q.Del("code")
			q.Set("error", "access_denied")
			return g.base + u.Path + "?" + q.Encode()
		}, "denied"},
		"another browser": {func() string {
			target := g.issuer.Authorize(begin(), "alice", staff)
			b.cookies = map[string]*http.Cookie{}
			return target
		}, "expired"},
	} {
		if to := back(c.target()); to != "/?signInError="+c.want {
			t.Errorf("%s: the browser goes to %s, want %s", what, to, c.want)
		}
		b.want(401, "GET", "/v1/me", "")
	}
	// A code works once.
	target := g.issuer.Authorize(begin(), "alice", staff)
	kept := maps.Clone(b.cookies)
	if to := back(target); strings.Contains(to, "signInError") {
		t.Fatalf("the browser goes to %s", to)
	}
	b.cookies = kept
	if to := back(target); !strings.Contains(to, "signInError") {
		t.Errorf("a code works twice")
	}
}

func TestSignInReturnsToThisServerOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "/", "/": "/", "/names/a%20b?x=y": "/names/a%20b?x=y", "https://evil.example.com/": "/", "//evil.example.com/": "/",
		"/#/name/slug/a%20b?x=y": "/#/name/slug/a%20b?x=y", "//evil.example.com/#/": "/",
		`/\evil.example.com`: "/", "names": "/", "javascript:alert(1)": "/", "/a\r\nSet-Cookie: x=y": "/",
	} {
		if got := localPath(text); got != want {
			t.Errorf("%q leads to %q, want %q", text, got, want)
		}
	}
}

func toJSON(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}
