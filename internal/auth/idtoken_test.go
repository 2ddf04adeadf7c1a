package auth_test

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
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/authtest"
)

type claims = authtest.Claims

// verifierTest is an issuer, and a verifier that trusts it.
type verifierTest struct {
	testing.TB
	*authtest.Issuer
	*clock
	verifier *auth.TokenVerifier
	log      *strings.Builder
	up       map[string]bool // by the URL of an issuer
}

func grant(verb access.Verb, where string) []access.Grant {
	return []access.Grant{{Verbs: []access.Verb{verb}, Namespaces: []string{where}}}
}

func newVerifierTest(tb testing.TB, change ...func(*auth.Issuer)) *verifierTest {
	tb.Helper()
	v := &verifierTest{TB: tb, Issuer: authtest.NewIssuer(tb), clock: newClock(time.Now()), log: &strings.Builder{}, up: make(map[string]bool)}
	issuer := auth.Issuer{
		URL: v.URL, Audience: []string{"dibs", "https://names.example.com"}, Leeway: time.Minute,
		Grants: grant(access.Read, "*"),
		Rules: []auth.ClaimRule{
			{Claim: []string{"groups"}, Value: "admins", Grants: grant(access.All, "acme.*")},
			{Claim: []string{"realm_access", "roles"}, Value: "operator", Grants: grant(access.Operate, "*")},
			{Claim: []string{"scope"}, Value: "dibs:hold", Grants: grant(access.Hold, "slug")},
		},
	}
	for _, c := range change {
		c(&issuer)
	}
	v.verifier = auth.NewTokenVerifier([]auth.Issuer{issuer}, auth.TokenOptions{
		Now: v.now, Logger: slog.New(slog.NewTextHandler(v.log, nil)),
		Report: func(issuer string, up bool) { v.up[issuer] = up },
	})
	return v
}

// refused checks that a token is refused for a reason, and that neither the error nor the
// log contains a part of it.
func (v *verifierTest) refused(what, token string, want access.Reason) {
	v.Helper()
	caller, err := v.verifier.Verify(v.Context(), token)
	var refusal *access.RefusedError
	if !errors.As(err, &refusal) || refusal.Reason != want {
		v.Errorf("%s: %v, want %s", what, err, want)
		return
	}
	if caller.Name != "" || len(caller.Grants) > 0 {
		v.Errorf("%s: refused, with the caller %+v", what, caller)
	}
	for part := range strings.SplitSeq(token, ".") {
		if len(part) > 8 && strings.Contains(refusal.Detail+v.log.String(), part) {
			v.Errorf("%s: a part of the token is in the error or the log: %s", what, refusal.Detail)
		}
	}
}

func (v *verifierTest) accepted(what, token string) access.Caller {
	v.Helper()
	caller, err := v.verifier.Verify(v.Context(), token)
	if err != nil {
		v.Errorf("%s: %v", what, err)
	}
	return caller
}

func TestValidToken(t *testing.T) {
	t.Parallel()
	v := newVerifierTest(t)
	caller := v.accepted("a token", v.Token(t, "alice", nil))
	if want := (access.Caller{Name: "oidc:" + v.URL + "#alice", Grants: grant(access.Read, "*")}); !reflect.DeepEqual(caller, want) {
		t.Errorf("%+v, want %+v", caller, want)
	}
	v.accepted("another audience", v.Token(t, "alice", claims{"aud": []string{"other", "https://names.example.com"}}))
	if v.Discoveries.Load() != 1 || v.KeyRequests.Load() != 1 || !v.up[v.URL] {
		t.Errorf("discovered %d times, keys fetched %d times, up: %v", v.Discoveries.Load(), v.KeyRequests.Load(), v.up)
	}
}

func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	v := newVerifierTest(t)
	stranger := authtest.NewKey(t, v.Keys()[0].ID, jose.ES256)
	good := v.Token(t, "alice", nil)
	parts := strings.Split(good, ".")
	other := authtest.NewIssuer(t)
	for _, c := range []struct {
		what, token string
		want        access.Reason
	}{
		{"not signed", authtest.Unsigned(t, "none", "", v.Claims("alice", nil)), access.TokenAlgorithm},
		{"not signed, in other letter case", authtest.Unsigned(t, "nOnE", "", v.Claims("alice", nil)), access.TokenAlgorithm},
		{"not signed, with a signature", authtest.Unsigned(t, "none", parts[2], v.Claims("alice", nil)), access.TokenAlgorithm},
		{"no algorithm", authtest.Unsigned(t, "", parts[2], v.Claims("alice", nil)), access.TokenAlgorithm},
		{"the public key as a secret", authtest.SignShared(t, publicPEM(t, v.Keys()[0]), v.Claims("alice", nil)), access.TokenAlgorithm},
		{"no signature", parts[0] + "." + parts[1] + ".", access.TokenSignature},
		{"another payload", parts[0] + "." + tampered(t, parts[1]) + "." + parts[2], access.TokenSignature},
		{"another key by the same name", authtest.Sign(t, stranger, v.Claims("alice", nil)), access.TokenSignature},
		{"another key", authtest.Sign(t, authtest.NewKey(t, "unknown", jose.ES256), v.Claims("alice", nil)), access.TokenSignature},
		{"another issuer", other.Token(t, "alice", nil), access.TokenIssuer},
		{"another issuer that uses the trusted URL", authtest.Sign(t, other.Keys()[0], v.Claims("alice", nil)), access.TokenSignature},
		{"the trusted URL with a slash", v.Token(t, "alice", claims{"iss": v.URL + "/"}), access.TokenIssuer},
		{"no issuer", v.Token(t, "alice", claims{"iss": nil}), access.TokenIssuer},
		{"another audience", v.Token(t, "alice", claims{"aud": "billing"}), access.TokenAudience},
		{"part of an audience", v.Token(t, "alice", claims{"aud": []string{"dib", "dibs2"}}), access.TokenAudience},
		{"no audience", v.Token(t, "alice", claims{"aud": nil}), access.TokenAudience},
		{"expired", v.Token(t, "alice", claims{"exp": time.Now().Add(-2 * time.Minute).Unix()}), access.TokenExpired},
		{"expired long ago", v.Token(t, "alice", claims{"exp": 0}), access.TokenExpired},
		{"without an expiry", v.Token(t, "alice", claims{"exp": nil}), access.TokenMalformed},
		{"not valid yet", v.Token(t, "alice", claims{"nbf": time.Now().Add(2 * time.Minute).Unix()}), access.TokenNotYet},
		{"issued tomorrow", v.Token(t, "alice", claims{"iat": time.Now().Add(24 * time.Hour).Unix()}), access.TokenNotYet},
		{"without a subject", v.Token(t, "alice", claims{"sub": nil}), access.TokenMalformed},
		{"with an empty subject", v.Token(t, "", nil), access.TokenMalformed},
		{"with a number as the subject", v.Token(t, "alice", claims{"sub": 7}), access.TokenMalformed},
		{"with a long subject", v.Token(t, strings.Repeat("a", 250), nil), access.TokenMalformed},
		{"with a line break in the subject", v.Token(t, "a\nb", nil), access.TokenMalformed},
		{"huge", v.Token(t, "alice", claims{"padding": strings.Repeat("x", auth.MaxToken)}), access.TokenTooLarge},
		{"huge nonsense", strings.Repeat("x.", auth.MaxToken), access.TokenTooLarge},
		{"not base64", "a$.b$.c$", access.TokenMalformed},
		{"not JSON", "YQ.YQ.YQ", access.TokenMalformed},
		{"empty parts", "..", access.TokenMalformed},
		{"a signature that is not base64", parts[0] + "." + parts[1] + ".$", access.TokenMalformed},
	} {
		v.refused(c.what, c.token, c.want)
	}
	v.accepted("a valid one among them", good)
}

// publicPEM returns the public part of a key.
func publicPEM(tb testing.TB, key authtest.Key) []byte {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Private.Public())
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// tampered replaces the subject of a payload.
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

// Clocks may differ by the leeway and no more.
func TestLeeway(t *testing.T) {
	t.Parallel()
	v := newVerifierTest(t)
	now := v.now()
	at := func(name string, ahead time.Duration) string {
		return v.Token(t, "alice", claims{name: float64(now.Add(ahead).UnixMilli()) / 1000})
	}
	v.accepted("expired within the leeway", at("exp", -58*time.Second))
	v.refused("expired before the leeway", at("exp", -62*time.Second), access.TokenExpired)
	v.accepted("valid within the leeway", at("nbf", 58*time.Second))
	v.refused("valid after the leeway", at("nbf", 62*time.Second), access.TokenNotYet)
	v.accepted("issued within the leeway", at("iat", 58*time.Second))
	v.refused("issued after the leeway", at("iat", 62*time.Second), access.TokenNotYet)
	exact := newVerifierTest(t, func(i *auth.Issuer) { i.Leeway = 0 })
	exact.refused("expired, without leeway", exact.Token(t, "alice", claims{"exp": now.Unix() - 1}), access.TokenExpired)
}

// A token is valid until its expiry plus the leeway.
func TestTokenExpires(t *testing.T) {
	t.Parallel()
	v := newVerifierTest(t)
	token := v.Token(t, "alice", nil)
	v.accepted("at first", token)
	v.advance(time.Hour)
	v.accepted("within the leeway", token)
	v.advance(time.Minute)
	v.refused("afterwards", token, access.TokenExpired)
}

func TestGrantsByClaims(t *testing.T) {
	t.Parallel()
	v := newVerifierTest(t)
	everyone, admin := grant(access.Read, "*"), grant(access.All, "acme.*")
	for _, c := range []struct {
		says claims
		want []access.Grant
	}{
		{nil, everyone},
		{claims{"groups": "admins"}, append(everyone, admin...)},
		{claims{"groups": []string{"staff", "admins"}}, append(everyone, admin...)},
		{claims{"groups": []any{7, "admins"}}, append(everyone, admin...)},
		{claims{"groups": []string{"admins", "admins"}}, append(everyone, admin...)},
		{claims{"groups": "admins staff"}, everyone},
		{claims{"groups": "Admins"}, everyone},
		{claims{"groups": map[string]any{"admins": true}}, everyone},
		{claims{"groups": true}, everyone},
		{claims{"scope": "openid dibs:hold"}, append(everyone, grant(access.Hold, "slug")...)},
		{claims{"scope": "openid dibs:holder"}, everyone},
		{claims{"realm_access": claims{"roles": []string{"operator"}}}, append(everyone, grant(access.Operate, "*")...)},
		{claims{"realm_access.roles": "operator"}, everyone},
		{claims{"realm_access": "operator"}, everyone},
	} {
		if got := v.accepted(fmt.Sprint(c.says), v.Token(t, "alice", c.says)).Grants; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %+v, want %+v", c.says, got, c.want)
		}
	}
	none := newVerifierTest(t, func(i *auth.Issuer) { i.Grants = nil })
	if caller := none.accepted("no rule that matches", none.Token(t, "alice", nil)); len(caller.Grants) > 0 {
		t.Errorf("%+v", caller)
	}
}

func TestSubjectClaim(t *testing.T) {
	t.Parallel()
	v := newVerifierTest(t, func(i *auth.Issuer) { i.Subject = "email" })
	if got := v.accepted("an email", v.Token(t, "1", claims{"email": "a@example.com"})).Name; got != "oidc:"+v.URL+"#a@example.com" {
		t.Error(got)
	}
	v.refused("without the claim", v.Token(t, "1", nil), access.TokenMalformed)
}

func TestAlgorithms(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA} {
		v := newVerifierTest(t)
		v.Publish(authtest.NewKey(t, "other", algorithm))
		v.accepted(string(algorithm), v.Token(t, "alice", nil))
	}
	v := newVerifierTest(t, func(i *auth.Issuer) { i.Algorithms = []string{"RS256"} })
	v.refused("an algorithm that the issuer does not name", v.Token(t, "alice", nil), access.TokenAlgorithm)
}
