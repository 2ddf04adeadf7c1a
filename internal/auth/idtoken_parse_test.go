package auth_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/authtest"
)

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
