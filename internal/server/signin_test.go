package server

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/authtest"
)

// signInRig is a server with every way to sign in: real keys, a real token issuer, and real
// certificates.
type signInRig struct {
	*rig
	ring      *auth.KeyStore
	issuer    *authtest.Issuer
	authority *authtest.Authority
	callers   map[string]*http.Client // by way and name
	secrets   map[string]string       // the bearer secrets, by way and name
	ahead     atomic.Int64            // of the clock for tokens
}

// visitors are the grants of callers by name, for every way to sign in.
type visitors map[string][]access.Grant

func newSignInRig(tb testing.TB, who visitors, change ...func(*Config)) *signInRig {
	tb.Helper()
	g := &signInRig{
		issuer: authtest.NewIssuer(tb), authority: authtest.NewAuthority(tb),
		callers: make(map[string]*http.Client), secrets: make(map[string]string),
	}
	issuer := auth.Issuer{URL: g.issuer.URL, Audience: []string{"dibs"}, Leeway: time.Minute}
	var holders []auth.CertificateRule
	for name, grants := range who {
		issuer.Rules = append(issuer.Rules, auth.ClaimRule{Claim: []string{"groups"}, Value: name, Grants: grants})
		holders = append(holders, auth.CertificateRule{Field: auth.CertificateDNS, Value: name + ".example.com", Grants: grants})
	}
	change = append(change, func(c *Config) {
		tokens := auth.NewTokenVerifier([]auth.Issuer{issuer}, auth.TokenOptions{
			Logger: c.Logger,
			Now:    func() time.Time { return time.Now().Add(time.Duration(g.ahead.Load())) },
		})
		g.ring = auth.NewKeyStore(c.Store)
		desk := auth.NewAuthenticator(g.ring, false)
		desk.Trust(tokens, holders)
		c.Authenticate, c.Certificate = desk.Bearer, desk.Certificate
	})
	g.rig = newTLSRig(tb, &tls.Config{
		Certificates: []tls.Certificate{g.authority.Server(tb, "server").TLS(tb)},
		ClientCAs:    g.authority.Pool(), ClientAuth: tls.VerifyClientCertIfGiven,
	}, change...)
	for name, grants := range who {
		_, secret, err := g.ring.Create(tb.Context(), auth.Key{Name: name, Grants: grants})
		if err != nil {
			tb.Fatal(err)
		}
		g.add("key", name, g.clientWith(), secret)
		g.add("token", name, g.clientWith(), g.issuer.Token(tb, name, authtest.Claims{"groups": []string{"staff", name}}))
		certificate := g.authority.Client(tb, name, name+".example.com", "", time.Now().Add(time.Hour)).TLS(tb)
		g.add("certificate", name, g.clientWith(certificate), "")
	}
	return g
}

// newTLSRig returns a rig with TLS.
func newTLSRig(tb testing.TB, config *tls.Config, change ...func(*Config)) *rig {
	tb.Helper()
	r := newRig(tb, inMemory, nil, change...)
	r.http.Close()
	r.http = httptest.NewUnstartedServer(r.server)
	r.http.TLS, r.http.EnableHTTP2 = config, true
	r.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // failed handshakes
	r.http.StartTLS()
	return r
}

func (g *signInRig) clientWith(certificates ...tls.Certificate) *http.Client {
	transport := &http.Transport{
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 100,
		TLSClientConfig: &tls.Config{RootCAs: g.authority.Pool(), Certificates: certificates},
	}
	g.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: g.client.CheckRedirect}
}

func (g *signInRig) add(way, name string, client *http.Client, secret string) {
	g.callers[way+" "+name], g.secrets[way+" "+name] = client, secret
}

// as returns the rig and the headers of a caller that signs in one of the ways.
func (g *signInRig) as(way, name string) (*rig, http.Header) {
	seen := *g.rig
	seen.client = g.callers[way+" "+name]
	header := make(http.Header)
	if secret := g.secrets[way+" "+name]; secret != "" {
		header.Set("Authorization", "Bearer "+secret)
	}
	return &seen, header
}

// ask sends a request as a caller.
func (g *signInRig) ask(way, name, method, path, body string, more ...string) (status int, code string) {
	g.Helper()
	seen, header := g.as(way, name)
	for i := 0; i < len(more); i += 2 {
		header.Set(more[i], more[i+1])
	}
	res, text := seen.send(method, path, header, body)
	var problem struct{ Code string }
	if res.header.Get("Content-Type") == problemType {
		if err := json.Unmarshal([]byte(text), &problem); err != nil {
			g.Fatal(err)
		}
	}
	return res.status, problem.Code
}

var waysToSignIn = []string{"key", "token", "certificate"}

// For each group of rights and several namespaces, every call has the answer of the rights
// matrix, and the same for every way to sign in.
func TestEveryWayHasTheSameRights(t *testing.T) {
	t.Parallel()
	notRaced(t)
	groups, patterns := append(access.Groups(), access.Confirm, access.ActForOthers), []string{"acme.slug", "acme.*", "*", "globex.*"}
	who := make(visitors)
	for _, group := range groups {
		for n, pattern := range patterns {
			name := fmt.Sprintf("%s-%d", strings.ToLower(string(group)), n)
			who[name] = []access.Grant{{Verbs: verbs(group), Namespaces: []string{pattern}}}
		}
	}
	who["owner"] = []access.Grant{{Verbs: verbs(access.All), Namespaces: []string{"*"}}}
	g := newSignInRig(t, who)
	delete(who, "owner")
	for caller, client := range g.callers {
		if !strings.HasPrefix(caller, "certificate ") {
			client.Transport = direct{g.server}
		}
	}
	if status, code := g.ask("key", "owner", http.MethodPost, "/v1/reservations", `{"namespace": "acme.slug", "value": "held"}`, "Idempotency-Key", someToken); status != http.StatusCreated {
		t.Fatal(status, code)
	}
	hooks := make(hookIDs)
	denied := 0
	for name, grants := range who {
		for _, c := range calls {
			caller := access.Caller{Name: name, Grants: grants}
			var answers []string
			for _, way := range waysToSignIn {
				seen, header := g.as(way, name)
				status, code := c.send(seen, header, hooks)
				answers = append(answers, fmt.Sprint(status, " ", code))
				allowed, hidden := c.allowed(caller), c.hidden(caller)
				switch refused := status == http.StatusForbidden && code == "FORBIDDEN"; {
				case allowed && (refused || status == http.StatusUnauthorized),
					!allowed && hidden && code != c.hiding(),
					!allowed && !hidden && !refused:
					t.Errorf("%s by %s: %s is %d %s, allowed: %v", name, way, c.request, status, code, allowed)
				}
				if !allowed {
					denied++
				}
			}
			if answers[0] != answers[1] || answers[0] != answers[2] {
				t.Errorf("%s: %s %s is %q", name, c.request, c.body, answers)
			}
		}
	}
	if got := g.metric(`dibs_http_denied_total{reason="forbidden"}`) + g.metric(`dibs_http_denied_total{reason="hidden"}`); got != float64(denied) || g.denied() != got {
		t.Errorf("%v were denied, %v in all, want %d", got, g.denied(), denied)
	}
	t.Logf("%d callers, %d ways, %d calls, %d denied", len(who), len(waysToSignIn), len(who)*len(waysToSignIn)*len(calls), denied)
}

// Other callers cannot use an entity, a hold or a token: they are refused, and counted.
func TestOthersAreRefusedWhicheverWay(t *testing.T) {
	t.Parallel()
	all := func(where string) []access.Grant {
		return []access.Grant{{Verbs: verbs(access.Hold, access.Own, access.Read), Namespaces: []string{where}}}
	}
	for _, way := range waysToSignIn {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			g := newSignInRig(t, visitors{"alice": all("*"), "bob": all("*"), "acme": all("acme.*"), "globex": all("globex.*")})
			expect := func(what string, want int, wantCode string) func(int, string) {
				return func(status int, code string) {
					t.Helper()
					if status != want || code != wantCode {
						t.Errorf("%s: %d %s, want %d %s", what, status, code, want, wantCode)
					}
				}
			}
			post := func(who, path, body string) (int, string) {
				return g.ask(way, who, http.MethodPost, path, body, "Idempotency-Key", someToken)
			}
			expect("reserve", 201, "")(post("alice", "/v1/reservations", `{"namespace": "slug", "value": "a"}`))
			hold := "/v1/reservations/" + dibs.NameID("slug", "a").String()
			expect("a guessed token", 409, "RESERVATION_LOST")(post("alice", hold+"/release", `{"token": "guessedguessedguessed"}`))
			expect("another's token", 409, "RESERVATION_LOST")(post("bob", hold+"/release", `{"token": "`+someToken+`"}`))
			expect("another's token", 409, "RESERVATION_LOST")(post("bob", hold+"/confirm", `{"token": "`+someToken+`", "entity": {"type": "t", "id": "1"}}`))
			// The same caller by another way is another principal.
			other := map[string]string{"key": "token", "token": "certificate", "certificate": "key"}[way]
			expect("oneself by another way", 409, "RESERVATION_LOST")(
				g.ask(other, "alice", http.MethodPost, hold+"/release", `{"token": "`+someToken+`"}`))
			expect("one's own", 200, "")(post("alice", hold+"/release", `{"token": "`+someToken+`"}`))

			expect("claim", 201, "")(post("acme", "/v1/claims", `{"namespace": "acme.slug", "value": "x", "entity": {"type": "t", "id": "1"}}`))
			expect("another scope's entity", 403, "FORBIDDEN")(g.ask(way, "globex", http.MethodDelete, "/v1/entities/t/1?scope=acme", ""))
			expect("another scope's name", 403, "FORBIDDEN")(g.ask(way, "globex", http.MethodGet, "/v1/names/acme.slug/x", ""))
			expect("an entity that the scope does not have", 404, "ENTITY_NOT_FOUND")(g.ask(way, "globex", http.MethodDelete, "/v1/entities/t/1?scope=globex", ""))
			expect("a hold of another scope", 404, "RESERVATION_NOT_FOUND")(g.ask(way, "globex", http.MethodGet, "/v1/reservations/"+dibs.NameID("acme.slug", "x").String(), ""))
			for metric, want := range map[string]float64{
				`dibs_commands_total{outcome="reservation_lost",verb="release"}`: 3,
				`dibs_commands_total{outcome="reservation_lost",verb="confirm"}`: 1,
				`dibs_http_denied_total{reason="forbidden"}`:                     2,
				`dibs_http_denied_total{reason="hidden"}`:                        1,
			} {
				if got := g.metric(metric); got != want {
					t.Errorf("%s is %v, want %v", metric, got, want)
				}
			}
		})
	}
}
