package idtoken_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/idtoken"
	"github.com/calldibs/dibs/internal/signintest"
)

const plainHeader = `{"alg":"EdDSA","kid":"k","typ":"JWT"}`

// newTextDesk is a desk whose issuer signs texts, see signintest.SignText.
func newTextDesk(tb testing.TB, change ...func(*idtoken.Issuer)) *desk {
	tb.Helper()
	d := newDesk(tb, change...)
	d.Publish(signintest.NewKey(tb, "k", jose.EdDSA))
	return d
}

// payload is an ordinary one, in which old is replaced, as often as it is there.
func (d *desk) payload(old, by string) string {
	d.Helper()
	data, err := json.Marshal(d.Claims("alice", nil))
	if err != nil {
		d.Fatal(err)
	}
	return strings.ReplaceAll(string(data), old, by)
}

func (d *desk) signText(header, payload string) string {
	d.Helper()
	return signintest.SignText(d, d.Keys()[0], header, payload)
}

// An issuer signs for another one, by members that some readers take for others.
func TestIssuerByAnotherSpelling(t *testing.T) {
	t.Parallel()
	victim, attacker := newTextDesk(t), newTextDesk(t)
	trusted := func(d *desk, grants []access.Grant) idtoken.Issuer {
		return idtoken.Issuer{URL: d.URL, Audience: []string{"dibs"}, Grants: grants}
	}
	d := &desk{TB: t, log: &strings.Builder{}, tokens: idtoken.New([]idtoken.Issuer{
		trusted(victim, grant(access.All, "*")), trusted(attacker, grant(access.Read, "*")),
	}, idtoken.Options{})}
	d.accepted("the attacker's own token", attacker.signText(plainHeader, attacker.payload("", "")))
	for _, member := range []string{"ISS", "Iss", "iſs", "iss", `is\u0073`} {
		both := fmt.Sprintf(`{"iss":%q,%q:%q,`, victim.URL, "NAME", attacker.URL)
		both = strings.ReplaceAll(both, "NAME", member)
		turned := fmt.Sprintf(`{"%s":%q,"iss":%q,`, member, attacker.URL, victim.URL)
		rest := strings.TrimPrefix(attacker.payload(`"iss":"`+attacker.URL+`",`, ""), "{")
		d.refused(member+" behind iss", attacker.signText(plainHeader, both+rest), access.TokenMalformed)
		d.refused(member+" before iss", attacker.signText(plainHeader, turned+rest), access.TokenMalformed)
	}
	d.refused("ISS alone", attacker.signText(plainHeader, attacker.payload(`"iss"`, `"ISS"`)), access.TokenMalformed)
}

// What a token says is read by the exact names of its members, each of which is there once.
func TestMembersTwice(t *testing.T) {
	t.Parallel()
	d := newTextDesk(t, func(i *idtoken.Issuer) { i.Subject = "email" })
	good := d.payload("{", `{"email":"a@example.com","groups":["staff"],"realm_access":{"roles":["staff"]},"other":{"a":1,"A":2},`)
	d.accepted("without any of that", d.signText(plainHeader, good))
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
		{`"a":1`, `"a":1,"a":1`}, // no matter what it says
	} {
		text := strings.Replace(good, c.old, c.by, 1)
		if text == good {
			t.Errorf("%s is not in the token", c.old)
		}
		d.refused(c.by, d.signText(plainHeader, text), access.TokenMalformed)
	}
}

// A claim that the configuration names is read, however close its name is to another one.
func TestConfiguredSpelling(t *testing.T) {
	t.Parallel()
	d := newTextDesk(t, func(i *idtoken.Issuer) {
		i.Subject = "Sub"
		i.Rules = []idtoken.Rule{{Claim: []string{"Groups"}, Value: "admins", Grants: grant(access.All, "*")}}
	})
	caller := d.accepted("Sub and Groups", d.signText(plainHeader, d.payload("{", `{"Sub":"bob","Groups":"admins",`)))
	if caller.Name != "oidc:"+d.URL+"#bob" || len(caller.Grants) != 2 {
		t.Errorf("%+v", caller)
	}
}

// A header says how a token is signed, by which key of the issuer, and nothing that has
// to be worked on before the signature is known to be good.
func TestHeaders(t *testing.T) {
	t.Parallel()
	d := newTextDesk(t)
	payload := d.payload("", "")
	for _, header := range []string{
		plainHeader,
		`{"alg":"EdDSA"}`,
		`{"alg":"EdDSA","kid":"k","typ":"at+jwt","cty":"x","x5t":"dGVzdA","x5t#S256":"dGVzdA"}`, // as of Entra ID and AD FS
		`{"alg":"EdDSA","kid":"k","pi.atm":"n","ver":1,"flag":true,"nothing":null}`,             // what is an issuer's own
	} {
		d.accepted(header, d.signText(header, payload))
	}
	public, err := json.Marshal(jose.JSONWebKey{Key: d.Keys()[0].Private.Public()})
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
		d.refused(member, d.signText(`{`+member+`,`+plainHeader[1:], payload), access.TokenMalformed)
	}
	for _, header := range []string{
		`{"ALG":"EdDSA","kid":"k"}`, `{"alg":["EdDSA"],"kid":"k"}`, `{"alg":"EdDSA","kid":7}`, `{"alg":"EdDSA","typ":true}`, `null`, `[]`, `{} `,
	} {
		want := access.TokenMalformed
		if header == `{} ` {
			want = access.TokenAlgorithm
		}
		d.refused(header, d.signText(header, payload), want)
	}
	large := `{"alg":"EdDSA","kid":"k","mine":"` + strings.Repeat("x", 2<<10) + `"}`
	d.refused("a large header", d.signText(large, payload), access.TokenTooLarge)
}

// A token has one spelling: the bits that base64 does not use are zero, and nothing is
// left out when it is read.
func TestTokenHasOneSpelling(t *testing.T) {
	t.Parallel()
	d := newTextDesk(t)
	payload := d.payload("", "")
	for len(payload)%3 != 1 { // so that the last character has four bits that are not used
		payload += " "
	}
	token := d.signText(plainHeader, payload)
	d.accepted("as it was signed", token)
	parts := strings.Split(token, ".")
	end := len(parts[1]) - 1
	other := parts[1][:end] + string(parts[1][end]+1)
	if decoded, err := base64.RawURLEncoding.DecodeString(other); err != nil || string(decoded) != payload {
		t.Fatalf("%q, %v", decoded, err)
	}
	d.refused("other bits at the end", parts[0]+"."+other+"."+parts[2], access.TokenMalformed)
	d.refused("a line break", parts[0]+"."+parts[1][:end]+"\n"+parts[1][end:]+"."+parts[2], access.TokenMalformed)
}

// The documents of an issuer are read by exact names, too.
func TestStrangeDocuments(t *testing.T) {
	t.Parallel()
	for _, metadata := range []string{
		`{"issuer": "URL", "jwks_uri": "URL/keys", "jwks_uri": "URL/keys"}`,
		`{"issuer": "URL", "jwks_uri": "URL/keys", "JWKS_URI": "URL/keys"}`,
		`{"issuer": "https://other.example.com", "ISSUER": "URL", "jwks_uri": "URL/keys"}`,
	} {
		issuer := signintest.NewIssuer(t)
		way := &shortcut{t: t, leads: map[string]string{issuer.URL + "/keys": issuer.URL + "/keys"}, answers: map[string]string{
			issuer.URL + "/.well-known/openid-configuration": strings.ReplaceAll(metadata, "URL", issuer.URL),
		}}
		d := &desk{TB: t, log: &strings.Builder{}, tokens: idtoken.New(
			[]idtoken.Issuer{{URL: issuer.URL, Audience: []string{"dibs"}}}, idtoken.Options{Transport: way})}
		d.refused(metadata, issuer.Token(t, "alice", nil), access.IssuerUnavailable)
	}
	issuer := signintest.NewIssuer(t)
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: issuer.Keys()[0].Private.Public(), KeyID: issuer.Keys()[0].ID}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{`"keys":[],"KEYS":`, `"keys":[],"keys":`} {
		way := &shortcut{t: t, answers: map[string]string{
			issuer.URL + "/.well-known/openid-configuration": fmt.Sprintf(`{"issuer": %q, "jwks_uri": %q}`, issuer.URL, issuer.URL+"/keys"),
			issuer.URL + "/keys":                             strings.Replace(string(keys), `"keys":`, by, 1),
		}}
		d := &desk{TB: t, log: &strings.Builder{}, tokens: idtoken.New(
			[]idtoken.Issuer{{URL: issuer.URL, Audience: []string{"dibs"}}}, idtoken.Options{Transport: way})}
		d.refused(by, issuer.Token(t, "alice", nil), access.IssuerUnavailable)
	}
}
