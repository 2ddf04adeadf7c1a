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
	v.verifier = auth.NewTokenVerifier([]auth.Issuer{issuer}, auth.Patient(auth.TokenOptions{
		Now: v.now, Logger: slog.New(slog.NewTextHandler(v.log, nil)),
		Report: func(issuer string, up bool) { v.up[issuer] = up },
	}))
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
	token := v.Token(t, "alice", claims{"exp": v.now().Add(time.Hour).Unix()})
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

const plainHeader = `{"alg":"EdDSA","kid":"k","typ":"JWT"}`

// newTextVerifierTest returns a test whose issuer signs texts, see authtest.SignText.
func newTextVerifierTest(tb testing.TB, change ...func(*auth.Issuer)) *verifierTest {
	tb.Helper()
	v := newVerifierTest(tb, change...)
	v.Publish(authtest.NewKey(tb, "k", jose.EdDSA))
	return v
}

// payload returns an ordinary payload in which every old is replaced.
func (v *verifierTest) payload(old, by string) string {
	v.Helper()
	data, err := json.Marshal(v.Claims("alice", nil))
	if err != nil {
		v.Fatal(err)
	}
	return strings.ReplaceAll(string(data), old, by)
}

func (v *verifierTest) signText(header, payload string) string {
	v.Helper()
	return authtest.SignText(v, v.Keys()[0], header, payload)
}

// A trusted issuer cannot sign for another one with a member that some parsers take for
// "iss".
func TestIssuerByAnotherSpelling(t *testing.T) {
	t.Parallel()
	victim, attacker := newTextVerifierTest(t), newTextVerifierTest(t)
	trusted := func(v *verifierTest, grants []access.Grant) auth.Issuer {
		return auth.Issuer{URL: v.URL, Audience: []string{"dibs"}, Grants: grants}
	}
	v := &verifierTest{TB: t, log: &strings.Builder{}, verifier: auth.NewTokenVerifier([]auth.Issuer{
		trusted(victim, grant(access.All, "*")), trusted(attacker, grant(access.Read, "*")),
	}, auth.TokenOptions{})}
	v.accepted("the attacker's own token", attacker.signText(plainHeader, attacker.payload("", "")))
	for _, member := range []string{"ISS", "Iss", "iſs", "iss", `is\u0073`} {
		both := fmt.Sprintf(`{"iss":%q,%q:%q,`, victim.URL, "NAME", attacker.URL)
		both = strings.ReplaceAll(both, "NAME", member)
		turned := fmt.Sprintf(`{"%s":%q,"iss":%q,`, member, attacker.URL, victim.URL)
		rest := strings.TrimPrefix(attacker.payload(`"iss":"`+attacker.URL+`",`, ""), "{")
		v.refused(member+" behind iss", attacker.signText(plainHeader, both+rest), access.TokenMalformed)
		v.refused(member+" before iss", attacker.signText(plainHeader, turned+rest), access.TokenMalformed)
	}
	v.refused("ISS alone", attacker.signText(plainHeader, attacker.payload(`"iss"`, `"ISS"`)), access.TokenMalformed)
}

// Claims are read by exact names, and a duplicate member is refused.
func TestDuplicateMembers(t *testing.T) {
	t.Parallel()
	v := newTextVerifierTest(t, func(i *auth.Issuer) { i.Subject = "email" })
	good := v.payload("{", `{"email":"a@example.com","groups":["staff"],"realm_access":{"roles":["staff"]},"other":{"a":1,"A":2},`)
	v.accepted("without duplicates", v.signText(plainHeader, good))
	for _, c := range []struct{ old, by string }{
		{`{"email"`, `{"email":"b@example.com","email"`},
		{`{"email"`, `{"Email":"b@example.com","email"`},
		{`{"email"`, `{"\u0065mail":"b@example.com","email"`},
		{`"email"`, `"EMAIL"`},
		{`"groups"`, `"groups":["admins"],"groups"`},
		{`"groups"`, `"Groups":["admins"],"groups"`},
		{`"groups"`, `"GROUPS"`},
		{`"realm_access"`, `"realm_access":{"roles":["operator"]},"realm_access"`},
		{`"realm_access"`, `"Realm_Access"`},
		{`"roles"`, `"roles":["operator"],"roles"`},
		{`"roles"`, `"Roles":["operator"],"roles"`},
		{`"roles"`, `"Roles"`},
		{`"aud"`, `"aud":"other","aud"`},
		{`"aud"`, `"AUD":"other","aud"`},
		{`"exp"`, `"exp":1,"exp"`},
		{`"exp"`, `"EXP":1,"exp"`},
		{`"iat"`, `"NBF":9999999999,"iat"`},
		{`"iat"`, `"Iat"`},
		{`"sub"`, `"Sub"`},
		{`"a":1`, `"a":1,"a":1`}, // even with equal values
	} {
		text := strings.Replace(good, c.old, c.by, 1)
		if text == good {
			t.Errorf("%s is not in the token", c.old)
		}
		v.refused(c.by, v.signText(plainHeader, text), access.TokenMalformed)
	}
}

// A claim that the configuration names is read even if it differs from another claim only in
// letter case.
func TestConfiguredSpelling(t *testing.T) {
	t.Parallel()
	v := newTextVerifierTest(t, func(i *auth.Issuer) {
		i.Subject = "Sub"
		i.Rules = []auth.ClaimRule{{Claim: []string{"Groups"}, Value: "admins", Grants: grant(access.All, "*")}}
	})
	caller := v.accepted("Sub and Groups", v.signText(plainHeader, v.payload("{", `{"Sub":"bob","Groups":"admins",`)))
	if caller.Name != "oidc:"+v.URL+"#bob" || len(caller.Grants) != 2 {
		t.Errorf("%+v", caller)
	}
}

// A header has an algorithm and a key id, and nothing that a library would process before
// the signature is verified.
func TestHeaders(t *testing.T) {
	t.Parallel()
	v := newTextVerifierTest(t)
	payload := v.payload("", "")
	for _, header := range []string{
		plainHeader,
		`{"alg":"EdDSA"}`,
		`{"alg":"EdDSA","kid":"k","typ":"at+jwt","cty":"x","x5t":"dGVzdA","x5t#S256":"dGVzdA"}`, // as of Entra ID and AD FS
		`{"alg":"EdDSA","kid":"k","pi.atm":"n","ver":1,"flag":true,"nothing":null}`,             // private members of an issuer
	} {
		v.accepted(header, v.signText(header, payload))
	}
	public, err := json.Marshal(jose.JSONWebKey{Key: v.Keys()[0].Private.Public()})
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{
		`"jwk":` + string(public), `"JWK":` + string(public), `"jwk":null`, `"jwk":"x"`,
		`"jku":"https://evil.example.com"`, `"JKU":"https://evil.example.com"`,
		`"x5u":"https://evil.example.com"`, `"x5c":[]`, `"x5c":["MIIB"]`,
		`"crit":["exp"],"exp":1`, `"crit":[]`, `"crit":["b64"],"b64":false`, `"b64":true`, `"b64":false`,
		`"zip":"DEF"`, `"enc":"A128GCM"`, `"epk":{}`, `"p2c":100000000`,
		`"alg":"EdDSA"`, `"Alg":"RS256"`, `"\u0061lg":"EdDSA"`, `"kid":"k"`, `"KID":"k"`, `"Kid":"k"`, `"Typ":"JWT"`,
		`"mine":{"a":1}`, `"mine":[1]`, `"mine":1,"mine":1`,
	} {
		v.refused(member, v.signText(`{`+member+`,`+plainHeader[1:], payload), access.TokenMalformed)
	}
	for _, header := range []string{
		`{"ALG":"EdDSA","kid":"k"}`, `{"alg":["EdDSA"],"kid":"k"}`, `{"alg":"EdDSA","kid":7}`, `{"alg":"EdDSA","typ":true}`, `null`, `[]`, `{} `,
	} {
		want := access.TokenMalformed
		if header == `{} ` {
			want = access.TokenAlgorithm
		}
		v.refused(header, v.signText(header, payload), want)
	}
	large := `{"alg":"EdDSA","kid":"k","mine":"` + strings.Repeat("x", 2<<10) + `"}`
	v.refused("a large header", v.signText(large, payload), access.TokenTooLarge)
}

// A token has one encoding: the unused bits of base64 are zero, and nothing is ignored.
func TestTokenHasOneEncoding(t *testing.T) {
	t.Parallel()
	v := newTextVerifierTest(t)
	payload := v.payload("", "")
	for len(payload)%3 != 1 { // so that the last character has four unused bits
		payload += " "
	}
	token := v.signText(plainHeader, payload)
	v.accepted("as it was signed", token)
	parts := strings.Split(token, ".")
	end := len(parts[1]) - 1
	other := parts[1][:end] + string(parts[1][end]+1)
	if decoded, err := base64.RawURLEncoding.DecodeString(other); err != nil || string(decoded) != payload {
		t.Fatalf("%q, %v", decoded, err)
	}
	v.refused("other bits at the end", parts[0]+"."+other+"."+parts[2], access.TokenMalformed)
	v.refused("a line break", parts[0]+"."+parts[1][:end]+"\n"+parts[1][end:]+"."+parts[2], access.TokenMalformed)
}

// The documents of an issuer are also read by exact names.
func TestAmbiguousDocuments(t *testing.T) {
	t.Parallel()
	const metadata = "/.well-known/openid-configuration"
	for _, c := range []struct{ path, document string }{
		{metadata, `{"issuer": "URL", "jwks_uri": "URL/keys", "jwks_uri": "URL/keys"}`},
		{metadata, `{"issuer": "URL", "jwks_uri": "URL/keys", "JWKS_URI": "URL/keys"}`},
		{metadata, `{"issuer": "https://other.example.com", "ISSUER": "URL", "jwks_uri": "URL/keys"}`},
		{"/keys", `{"keys":[],"KEYS":[KEY]}`},
		{"/keys", `{"keys":[],"keys":[KEY]}`},
	} {
		v := newTransportTest(t, func(f *fakeTransport, issuer *authtest.Issuer) {
			key, err := json.Marshal(jose.JSONWebKey{Key: issuer.Keys()[0].Private.Public(), KeyID: issuer.Keys()[0].ID})
			if err != nil {
				t.Fatal(err)
			}
			f.forward[issuer.URL+"/keys"] = issuer.URL + "/keys"
			f.documents[issuer.URL+c.path] = strings.NewReplacer("URL", issuer.URL, "[KEY]", "["+string(key)+"]").Replace(c.document)
		})
		v.refused(c.document, v.Token(t, "alice", nil), access.IssuerUnavailable)
	}
}

// FuzzVerify checks that every text is refused except the one token that was signed.
func FuzzVerify(f *testing.F) {
	v := newVerifierTest(f)
	good := v.Token(f, "alice", nil)
	parts := strings.Split(good, ".")
	f.Add(parts[0], parts[1], parts[2])
	f.Add("", "", "")
	none := strings.Split(authtest.Unsigned(f, "none", "x", v.Claims("alice", nil)), ".")
	f.Add(none[0], none[1], none[2])
	f.Add(none[0], parts[1], parts[2])
	f.Add(parts[0], "e30", parts[2])
	f.Fuzz(func(t *testing.T, header, payload, signature string) {
		caller, err := v.verifier.Verify(t.Context(), header+"."+payload+"."+signature)
		var refused *access.RefusedError
		switch {
		case err == nil && (header != parts[0] || payload != parts[1] || caller.Name != "oidc:"+v.URL+"#alice"):
			t.Errorf("%q.%q.%q is accepted as %s", header, payload, signature, caller.Name)
		case err != nil && !errors.As(err, &refused):
			t.Errorf("%q.%q.%q: %v", header, payload, signature, err)
		}
	})
}
