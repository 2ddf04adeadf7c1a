// Package authtest has an issuer of tokens and a certificate authority for tests of
// authentication. Neither is reachable from other machines.
package authtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Issuer is an OpenID Connect issuer: discovery, keys and tokens. It is safe for
// concurrent use.
type Issuer struct {
	URL string
	// KeyRequests counts requests for its keys, Discoveries those for its metadata.
	KeyRequests, Discoveries atomic.Int64
	// While Down is set, every request fails.
	Down atomic.Bool
	// Person is who signs in at the issuer's page, without being asked; nil refuses.
	Person atomic.Pointer[Person]

	mu   sync.Mutex
	keys []Key
	// codes are the authorization requests that were answered with a code.
	codes map[string]url.Values
	tb    testing.TB
}

// Person is a subject with claims of their own.
type Person struct {
	Subject string
	Claims  Claims
}

// Key is a signing key.
type Key struct {
	ID        string
	Algorithm jose.SignatureAlgorithm
	Private   crypto.Signer
}

// Claims are the payload of a token.
type Claims map[string]any

// NewIssuer starts an issuer with one key.
func NewIssuer(tb testing.TB) *Issuer {
	tb.Helper()
	i := &Issuer{keys: []Key{NewKey(tb, "first", jose.ES256)}, codes: make(map[string]url.Values), tb: tb}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.Discoveries.Add(1)
		i.answer(w, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "id_token_signing_alg_values_supported": []string{"none", "HS256", "ES256"}})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.KeyRequests.Add(1)
		i.answer(w, i.keySet())
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		target := r.FormValue("redirect_uri") + "?" + url.Values{"error": {"access_denied"}, "state": {r.FormValue("state")}}.Encode()
		if person := i.Person.Load(); person != nil {
			target = i.Authorize(r.URL.String(), person.Subject, person.Claims)
		}
		http.Redirect(w, r, target, http.StatusFound)
	})
	mux.HandleFunc("POST /token", i.exchange)
	server := httptest.NewServer(mux)
	tb.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

// Authorize signs a person in at the page to which a browser was sent, and returns the URL to
// which the browser goes back, with a code. The claims change those of the ID token.
func (i *Issuer) Authorize(page, subject string, change Claims) string {
	i.tb.Helper()
	u, err := url.Parse(page)
	if err != nil {
		i.tb.Fatal(err)
	}
	request := u.Query()
	claims := Claims{"aud": request.Get("client_id"), "nonce": request.Get("nonce")}
	maps.Copy(claims, change)
	code := rand.Text()
	request.Set("id_token", i.Token(i.tb, subject, claims))
	i.mu.Lock()
	i.codes[code] = request
	i.mu.Unlock()
	return request.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {request.Get("state")}, "iss": {i.URL}}.Encode()
}

// exchange gives the ID token for a code, once, and only to the client that knows the verifier.
func (i *Issuer) exchange(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	request := i.codes[r.PostFormValue("code")]
	delete(i.codes, r.PostFormValue("code"))
	i.mu.Unlock()
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if request == nil || request.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(challenge[:]) ||
		request.Get("redirect_uri") != r.PostFormValue("redirect_uri") || request.Get("client_id") != r.PostFormValue("client_id") {
		http.Error(w, `{"error": "invalid_grant"}`, http.StatusBadRequest)
		return
	}
	i.answer(w, map[string]string{"id_token": request.Get("id_token"), "access_token": "x", "token_type": "Bearer"})
}

func (i *Issuer) answer(w http.ResponseWriter, document any) {
	if i.Down.Load() {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document)
}

func (i *Issuer) keySet() jose.JSONWebKeySet {
	var set jose.JSONWebKeySet
	for _, key := range i.Keys() {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Private.Public(), KeyID: key.ID, Algorithm: string(key.Algorithm), Use: "sig"})
	}
	return set
}

// Keys returns the keys that the issuer publishes.
func (i *Issuer) Keys() []Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys
}

// Publish replaces the keys of the issuer.
func (i *Issuer) Publish(keys ...Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

// Claims returns the claims of an ordinary token: for this subject and the audience "dibs",
// valid for an hour from now. The claims in change replace them; nil removes a claim.
func (i *Issuer) Claims(subject string, change Claims) Claims {
	now := time.Now()
	claims := Claims{"iss": i.URL, "sub": subject, "aud": "dibs", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	for name, value := range change {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	return claims
}

// Token returns an ordinary token with changed claims, see Claims.
func (i *Issuer) Token(tb testing.TB, subject string, change Claims) string {
	tb.Helper()
	return Sign(tb, i.Keys()[0], i.Claims(subject, change))
}

// Sign returns a token signed by a key.
func Sign(tb testing.TB, key Key, claims Claims) string {
	tb.Helper()
	return sign(tb, jose.SigningKey{Algorithm: key.Algorithm, Key: jose.JSONWebKey{Key: key.Private, KeyID: key.ID}}, claims)
}

// SignShared returns a token signed by HS256, with a shared secret.
func SignShared(tb testing.TB, secret []byte, claims Claims) string {
	tb.Helper()
	return sign(tb, jose.SigningKey{Algorithm: jose.HS256, Key: secret}, claims)
}

func sign(tb testing.TB, key jose.SigningKey, claims Claims) string {
	tb.Helper()
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		tb.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		tb.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

// SignText returns a token with exactly this header and payload, signed by an EdDSA key.
// They may be what no library would produce.
func SignText(tb testing.TB, key Key, header, payload string) string {
	tb.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(header)) + "." + encode([]byte(payload))
	signature, err := key.Private.Sign(rand.Reader, []byte(signed), crypto.Hash(0))
	if err != nil {
		tb.Fatal(err)
	}
	return signed + "." + encode(signature)
}

// Unsigned returns a token with the name of an algorithm, such as "none", and an arbitrary
// signature.
func Unsigned(tb testing.TB, algorithm, signature string, claims Claims) string {
	tb.Helper()
	part := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(data)
	}
	return part(map[string]string{"alg": algorithm, "typ": "JWT"}) + "." + part(claims) + "." + signature
}

// NewKey returns a new key for RS256, ES256 or EdDSA.
func NewKey(tb testing.TB, id string, algorithm jose.SignatureAlgorithm) Key {
	tb.Helper()
	key := Key{ID: id, Algorithm: algorithm}
	var err error
	switch algorithm {
	case jose.RS256:
		key.Private, err = rsa.GenerateKey(rand.Reader, 2048)
	case jose.EdDSA:
		_, key.Private, err = ed25519.GenerateKey(rand.Reader)
	default:
		key.Private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return key
}
