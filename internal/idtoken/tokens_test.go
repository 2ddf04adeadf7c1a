package idtoken_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/idtoken"
	"github.com/calldibs/dibs/internal/signintest"
)

type claims = signintest.Claims

// desk is an issuer, and who trusts it.
type desk struct {
	testing.TB
	*signintest.Issuer
	tokens *idtoken.Tokens
	clock  *clock
	log    *strings.Builder
	up     map[string]bool
}

// clock is the time, and moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func grant(verb access.Verb, where string) []access.Grant {
	return []access.Grant{{Verbs: []access.Verb{verb}, Namespaces: []string{where}}}
}

func newDesk(tb testing.TB, change ...func(*idtoken.Issuer)) *desk {
	tb.Helper()
	d := &desk{TB: tb, Issuer: signintest.NewIssuer(tb), clock: &clock{now: time.Now()}, log: &strings.Builder{}, up: make(map[string]bool)}
	issuer := idtoken.Issuer{
		URL: d.URL, Audience: []string{"dibs", "https://names.example.com"}, Leeway: time.Minute,
		Grants: grant(access.Read, "*"),
		Rules: []idtoken.Rule{
			{Claim: []string{"groups"}, Value: "admins", Grants: grant(access.All, "acme.*")},
			{Claim: []string{"realm_access", "roles"}, Value: "operator", Grants: grant(access.Operate, "*")},
			{Claim: []string{"scope"}, Value: "dibs:hold", Grants: grant(access.Hold, "slug")},
		},
	}
	for _, c := range change {
		c(&issuer)
	}
	d.tokens = idtoken.New([]idtoken.Issuer{issuer}, idtoken.Options{
		Now: d.clock.Now, Logger: slog.New(slog.NewTextHandler(d.log, nil)),
		Report: func(issuer string, up bool) { d.up[issuer] = up },
	})
	return d
}

// refused wants a token to be refused for a reason, and without a word of it.
func (d *desk) refused(what, token string, want access.Reason) {
	d.Helper()
	caller, err := d.tokens.Find(d.Context(), token)
	var refusal *access.RefusedError
	if !errors.As(err, &refusal) || refusal.Reason != want {
		d.Errorf("%s: %v, want %s", what, err, want)
		return
	}
	if caller.Name != "" || len(caller.Grants) > 0 {
		d.Errorf("%s: refused, and is %+v", what, caller)
	}
	for part := range strings.SplitSeq(token, ".") {
		if len(part) > 8 && strings.Contains(refusal.Detail+d.log.String(), part) {
			d.Errorf("%s: a part of the token is told: %s", what, refusal.Detail)
		}
	}
}

func (d *desk) accepted(what, token string) access.Caller {
	d.Helper()
	caller, err := d.tokens.Find(d.Context(), token)
	if err != nil {
		d.Errorf("%s: %v", what, err)
	}
	return caller
}

func TestGoodToken(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	caller := d.accepted("a token", d.Token(t, "alice", nil))
	if want := (access.Caller{Name: "oidc:" + d.URL + "#alice", Grants: grant(access.Read, "*")}); !reflect.DeepEqual(caller, want) {
		t.Errorf("%+v, want %+v", caller, want)
	}
	d.accepted("another audience", d.Token(t, "alice", claims{"aud": []string{"other", "https://names.example.com"}}))
	if d.Discovered.Load() != 1 || d.Asked.Load() != 1 || !d.up[d.URL] {
		t.Errorf("discovered %d times, asked %d times, up: %v", d.Discovered.Load(), d.Asked.Load(), d.up)
	}
}

func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	stranger := signintest.NewKey(t, d.Keys()[0].ID, jose.ES256)
	good := d.Token(t, "alice", nil)
	parts := strings.Split(good, ".")
	other := signintest.NewIssuer(t)
	for _, c := range []struct {
		what, token string
		want        access.Reason
	}{
		{"not signed", signintest.Unsigned(t, "none", "", d.Claims("alice", nil)), access.TokenAlgorithm},
		{"not signed, otherwise written", signintest.Unsigned(t, "nOnE", "", d.Claims("alice", nil)), access.TokenAlgorithm},
		{"not signed, with a signature", signintest.Unsigned(t, "none", parts[2], d.Claims("alice", nil)), access.TokenAlgorithm},
		{"no algorithm", signintest.Unsigned(t, "", parts[2], d.Claims("alice", nil)), access.TokenAlgorithm},
		{"the public key as a secret", signintest.SignShared(t, publicPEM(t, d.Keys()[0]), d.Claims("alice", nil)), access.TokenAlgorithm},
		{"no signature", parts[0] + "." + parts[1] + ".", access.TokenSignature},
		{"another payload", parts[0] + "." + tampered(t, parts[1]) + "." + parts[2], access.TokenSignature},
		{"another key by the same name", signintest.Sign(t, stranger, d.Claims("alice", nil)), access.TokenSignature},
		{"another key", signintest.Sign(t, signintest.NewKey(t, "unknown", jose.ES256), d.Claims("alice", nil)), access.TokenSignature},
		{"another issuer", other.Token(t, "alice", nil), access.TokenIssuer},
		{"another issuer with our name", signintest.Sign(t, other.Keys()[0], d.Claims("alice", nil)), access.TokenSignature},
		{"almost our issuer", d.Token(t, "alice", claims{"iss": d.URL + "/"}), access.TokenIssuer},
		{"no issuer", d.Token(t, "alice", claims{"iss": nil}), access.TokenIssuer},
		{"another audience", d.Token(t, "alice", claims{"aud": "billing"}), access.TokenAudience},
		{"part of our audience", d.Token(t, "alice", claims{"aud": []string{"dib", "dibs2"}}), access.TokenAudience},
		{"no audience", d.Token(t, "alice", claims{"aud": nil}), access.TokenAudience},
		{"over", d.Token(t, "alice", claims{"exp": time.Now().Add(-2 * time.Minute).Unix()}), access.TokenExpired},
		{"over since ever", d.Token(t, "alice", claims{"exp": 0}), access.TokenExpired},
		{"without an end", d.Token(t, "alice", claims{"exp": nil}), access.TokenMalformed},
		{"not yet", d.Token(t, "alice", claims{"nbf": time.Now().Add(2 * time.Minute).Unix()}), access.TokenNotYet},
		{"issued tomorrow", d.Token(t, "alice", claims{"iat": time.Now().Add(24 * time.Hour).Unix()}), access.TokenNotYet},
		{"nobody's", d.Token(t, "alice", claims{"sub": nil}), access.TokenMalformed},
		{"nobody's, as a text", d.Token(t, "", nil), access.TokenMalformed},
		{"a number's", d.Token(t, "alice", claims{"sub": 7}), access.TokenMalformed},
		{"of a long subject", d.Token(t, strings.Repeat("a", 250), nil), access.TokenMalformed},
		{"of a subject with a line break", d.Token(t, "a\nb", nil), access.TokenMalformed},
		{"huge", d.Token(t, "alice", claims{"padding": strings.Repeat("x", idtoken.MaxToken)}), access.TokenTooLarge},
		{"huge nonsense", strings.Repeat("x.", idtoken.MaxToken), access.TokenTooLarge},
		{"no base64", "a$.b$.c$", access.TokenMalformed},
		{"no JSON", "YQ.YQ.YQ", access.TokenMalformed},
		{"nothing", "..", access.TokenMalformed},
	} {
		d.refused(c.what, c.token, c.want)
	}
	d.accepted("a good one among them", good)
}

// publicPEM is what everybody can read of a key.
func publicPEM(tb testing.TB, key signintest.Key) []byte {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Private.Public())
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// tampered makes another one's token of a payload.
func tampered(tb testing.TB, payload string) string {
	tb.Helper()
	data, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		tb.Fatal(err)
	}
	var c claims
	if err := json.Unmarshal(data, &c); err != nil {
		tb.Fatal(err)
	}
	c["sub"] = "mallory"
	if data, err = json.Marshal(c); err != nil {
		tb.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// Clocks may differ by the leeway, and not by more.
func TestLeeway(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	now := d.clock.Now()
	at := func(name string, ahead time.Duration) string {
		return d.Token(t, "alice", claims{name: float64(now.Add(ahead).UnixMilli()) / 1000})
	}
	d.accepted("over for a moment", at("exp", -58*time.Second))
	d.refused("over for longer", at("exp", -62*time.Second), access.TokenExpired)
	d.accepted("nearly", at("nbf", 58*time.Second))
	d.refused("not nearly", at("nbf", 62*time.Second), access.TokenNotYet)
	d.accepted("issued in a moment", at("iat", 58*time.Second))
	d.refused("issued later", at("iat", 62*time.Second), access.TokenNotYet)
	exact := newDesk(t, func(i *idtoken.Issuer) { i.Leeway = 0 })
	exact.refused("over, without leeway", exact.Token(t, "alice", claims{"exp": now.Unix() - 1}), access.TokenExpired)
}

// A token is good until its end, and not a moment longer.
func TestTokenEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	token := d.Token(t, "alice", nil)
	d.accepted("at first", token)
	d.clock.move(time.Hour)
	d.accepted("within the leeway", token)
	d.clock.move(time.Minute)
	d.refused("afterwards", token, access.TokenExpired)
}

func TestGrantsByClaims(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	everybody, admin := grant(access.Read, "*"), grant(access.All, "acme.*")
	for _, c := range []struct {
		says claims
		want []access.Grant
	}{
		{nil, everybody},
		{claims{"groups": "admins"}, append(everybody, admin...)},
		{claims{"groups": []string{"staff", "admins"}}, append(everybody, admin...)},
		{claims{"groups": []any{7, "admins"}}, append(everybody, admin...)},
		{claims{"groups": []string{"admins", "admins"}}, append(everybody, admin...)},
		{claims{"groups": "admins staff"}, everybody},
		{claims{"groups": "Admins"}, everybody},
		{claims{"groups": map[string]any{"admins": true}}, everybody},
		{claims{"groups": true}, everybody},
		{claims{"scope": "openid dibs:hold"}, append(everybody, grant(access.Hold, "slug")...)},
		{claims{"scope": "openid dibs:holder"}, everybody},
		{claims{"realm_access": claims{"roles": []string{"operator"}}}, append(everybody, grant(access.Operate, "*")...)},
		{claims{"realm_access.roles": "operator"}, everybody},
		{claims{"realm_access": "operator"}, everybody},
	} {
		if got := d.accepted(fmt.Sprint(c.says), d.Token(t, "alice", c.says)).Grants; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %+v, want %+v", c.says, got, c.want)
		}
	}
	none := newDesk(t, func(i *idtoken.Issuer) { i.Grants = nil })
	if caller := none.accepted("no rule matches", none.Token(t, "alice", nil)); len(caller.Grants) > 0 {
		t.Errorf("%+v", caller)
	}
}

func TestSubjectClaim(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(i *idtoken.Issuer) { i.Subject = "email" })
	if got := d.accepted("an email", d.Token(t, "1", claims{"email": "a@example.com"})).Name; got != "oidc:"+d.URL+"#a@example.com" {
		t.Error(got)
	}
	d.refused("none", d.Token(t, "1", nil), access.TokenMalformed)
}

func TestAlgorithms(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA} {
		d := newDesk(t)
		d.Publish(signintest.NewKey(t, "other", algorithm))
		d.accepted(string(algorithm), d.Token(t, "alice", nil))
	}
	d := newDesk(t, func(i *idtoken.Issuer) { i.Algorithms = []string{"RS256"} })
	d.refused("not named", d.Token(t, "alice", nil), access.TokenAlgorithm)
}
