package auth_test

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/authtest"
)

// The first token with a new key makes the verifier fetch the keys again.
func TestRotation(t *testing.T) {
	t.Parallel()
	v := newVerifierTest(t)
	old := v.Token(t, "alice", nil)
	v.accepted("the first key", old)
	next := authtest.NewKey(t, "second", jose.EdDSA)
	v.Publish(next, v.Keys()[0])
	v.accepted("the second key", v.Token(t, "alice", nil))
	v.accepted("the first key still", old)
	v.Publish(next)
	v.refused("not a key of the issuer", authtest.Sign(t, authtest.NewKey(t, "third", jose.ES256), v.Claims("alice", nil)), access.TokenSignature)
	v.refused("the first key, which the issuer withdrew", old, access.TokenSignature)
}

// Tokens with made-up keys cause few requests to the issuer.
func TestMadeUpKeys(t *testing.T) {
	t.Parallel()
	v := newVerifierTest(t)
	good := v.Token(t, "alice", nil)
	stranger := authtest.NewKey(t, "", jose.ES256)
	flood := func() {
		var group sync.WaitGroup
		for n := range 50 {
			group.Go(func() {
				key := stranger
				key.ID = fmt.Sprint("made-up-", n)
				_, err := v.verifier.Verify(t.Context(), authtest.Sign(t, key, v.Claims("alice", nil)))
				if err == nil {
					t.Error("a made-up key was accepted")
				}
			})
		}
		group.Wait()
	}
	flood()
	if n := v.KeyRequests.Load(); n > 3 {
		t.Errorf("the keys were fetched %d times", n)
	}
	v.accepted("a valid token meanwhile", good)
	for range 6 {
		v.advance(10 * time.Second)
		flood()
	}
	if n := v.KeyRequests.Load(); n > 9 {
		t.Errorf("the keys were fetched %d times in a minute", n)
	}
	// A new key still works ten seconds later.
	v.Publish(authtest.NewKey(t, "second", jose.ES256))
	v.advance(10 * time.Second)
	v.accepted("a new key", v.Token(t, "alice", nil))
}

// newDownTest returns a test whose issuer is down, and a token of that issuer.
func newDownTest(t *testing.T) (v *verifierTest, token string) {
	t.Helper()
	v = newVerifierTest(t)
	v.Down.Store(true)
	return v, v.Token(t, "alice", nil)
}

// Tokens are refused while their issuer is down, and no longer.
func TestIssuerIsDown(t *testing.T) {
	t.Parallel()
	v, token := newDownTest(t)
	v.verifier.Discover(t.Context())
	if up, reported := v.up[v.URL]; up || !reported || !strings.Contains(v.log.String(), v.URL) {
		t.Errorf("not reported: %v, %s", v.up, v.log)
	}
	for range 20 {
		v.refused("while it is down", token, access.IssuerUnavailable)
	}
	if n := v.Discoveries.Load(); n != 1 {
		t.Errorf("discovered %d times", n)
	}
	v.Down.Store(false)
	v.refused("before the next attempt", token, access.IssuerUnavailable)
	v.advance(time.Second)
	v.accepted("when it is back", token)
	if !v.up[v.URL] {
		t.Error("its return is not reported")
	}

	v.Down.Store(true)
	v.accepted("keys are cached", token)
	next := authtest.NewKey(t, "second", jose.ES256)
	v.Publish(next)
	v.refused("a new key, which cannot be fetched", v.Token(t, "alice", nil), access.IssuerUnavailable)
	if v.up[v.URL] {
		t.Error("its second failure is not reported")
	}
	v.Down.Store(false)
	v.advance(10 * time.Second)
	v.accepted("the new key", v.Token(t, "alice", nil))
}

// The backoff grows to half a minute.
func TestBackoffGrows(t *testing.T) {
	t.Parallel()
	v, token := newDownTest(t)
	for range 10 * 60 {
		v.refused("down", token, access.IssuerUnavailable)
		v.advance(time.Second)
	}
	if n := v.Discoveries.Load(); n < 20 || n > 26 {
		t.Errorf("%d attempts in ten minutes", n)
	}
}

// Concurrent callers discover an issuer once.
func TestOneDiscovery(t *testing.T) {
	t.Parallel()
	v := newVerifierTest(t)
	token := v.Token(t, "alice", nil)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { v.accepted("one of many", token) })
	}
	group.Wait()
	if v.Discoveries.Load() != 1 || v.KeyRequests.Load() > 3 {
		t.Errorf("discovered %d times, keys fetched %d times", v.Discoveries.Load(), v.KeyRequests.Load())
	}
}

// An issuer that answers nonsense counts as down.
func TestBrokenIssuers(t *testing.T) {
	t.Parallel()
	key := authtest.NewKey(t, "k", jose.ES256)
	metadata := func(keys string) string { return `{"issuer": "URL", "jwks_uri": "` + keys + `"}` }
	for what, answers := range map[string]map[string]string{
		"another's metadata":      {"/.well-known/openid-configuration": `{"issuer": "https://evil.example.com", "jwks_uri": "URL/keys"}`},
		"not JSON":                {"/.well-known/openid-configuration": `<html>`},
		"no keys":                 {"/.well-known/openid-configuration": metadata("")},
		"keys that do not exist":  {"/.well-known/openid-configuration": metadata("URL/nowhere")},
		"keys that are not JSON":  {"/.well-known/openid-configuration": metadata("URL/keys"), "/keys": "none"},
		"keys that are too large": {"/.well-known/openid-configuration": metadata("URL/keys"), "/keys": `"` + strings.Repeat("x", 2<<20) + `"`},
	} {
		var url string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer, ok := answers[r.URL.Path]
			if !ok {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(strings.ReplaceAll(answer, "URL", url)))
		}))
		t.Cleanup(server.Close)
		url = server.URL
		v := newVerifierTest(t, func(i *auth.Issuer) { i.URL = url })
		v.refused(what, authtest.Sign(t, key, v.Claims("alice", claims{"iss": url})), access.IssuerUnavailable)
	}
}

// A key that go-jose refuses by default as too large does not make the issuer's other keys
// unusable.
func TestLargeKeyInTheSet(t *testing.T) {
	t.Parallel()
	modulus := new(big.Int).Lsh(big.NewInt(1), 8192)
	modulus.Sub(modulus, big.NewInt(1)) // of 8192 bits; it signs nothing
	v := newTransportTest(t, func(f *fakeTransport, issuer *authtest.Issuer) {
		keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
			{Key: &rsa.PublicKey{N: modulus, E: 65537}, KeyID: "large"},
			{Key: issuer.Keys()[0].Private.Public(), KeyID: issuer.Keys()[0].ID},
		}})
		if err != nil {
			t.Fatal(err)
		}
		f.documents[issuer.URL+"/keys"] = string(keys)
	})
	v.accepted("a small key beside a large one", v.Token(t, "alice", nil))
}

// Keys over plain HTTP are refused, whether the metadata names them or redirects to them.
func TestKeysOverPlainHTTP(t *testing.T) {
	t.Parallel()
	const plain = "http://keys.example.com/keys"
	for what, prepare := range map[string]func(*fakeTransport, *authtest.Issuer){
		"named":      func(f *fakeTransport, issuer *authtest.Issuer) { f.metadata(issuer.URL, plain) },
		"redirected": func(f *fakeTransport, issuer *authtest.Issuer) { f.redirects[issuer.URL+"/keys"] = plain },
	} {
		v := newTransportTest(t, func(f *fakeTransport, issuer *authtest.Issuer) {
			f.forward[plain] = issuer.URL + "/keys"
			prepare(f, issuer)
		})
		v.refused(what, v.Token(t, "alice", nil), access.IssuerUnavailable)
		if n := v.KeyRequests.Load(); n > 0 {
			t.Errorf("%s: keys were fetched %d times", what, n)
		}
	}
}

// fakeTransport answers requests by URL: with a document, with a redirect, or by
// forwarding them to another URL.
type fakeTransport struct {
	t                             *testing.T
	documents, redirects, forward map[string]string
}

// newTransportTest returns a test whose verifier reaches its issuer through a transport,
// which answers with the metadata of the issuer unless prepare changes that.
func newTransportTest(t *testing.T, prepare func(*fakeTransport, *authtest.Issuer)) *verifierTest {
	t.Helper()
	v := &verifierTest{TB: t, Issuer: authtest.NewIssuer(t), log: &strings.Builder{}}
	f := &fakeTransport{t: t, documents: make(map[string]string), redirects: make(map[string]string), forward: make(map[string]string)}
	f.metadata(v.URL, v.URL+"/keys")
	prepare(f, v.Issuer)
	v.verifier = auth.NewTokenVerifier([]auth.Issuer{{URL: v.URL, Audience: []string{"dibs"}}}, auth.TokenOptions{Transport: f})
	return v
}

// metadata sets the metadata of an issuer, with its keys at a URL.
func (f *fakeTransport) metadata(issuer, keys string) {
	f.documents[issuer+"/.well-known/openid-configuration"] = fmt.Sprintf(`{"issuer": %q, "jwks_uri": %q}`, issuer, keys)
}

func (f *fakeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	url := r.URL.String()
	answer := httptest.NewRecorder()
	if to := f.redirects[url]; to != "" {
		http.Redirect(answer, r, to, http.StatusFound)
		return answer.Result(), nil
	}
	if document := f.documents[url]; document != "" {
		answer.Header().Set("Content-Type", "application/json")
		_, _ = answer.WriteString(document)
		return answer.Result(), nil
	}
	to := f.forward[url]
	if to == "" {
		f.t.Errorf("unexpected request for %s", url)
		return nil, errors.New("not found")
	}
	request, err := http.NewRequestWithContext(r.Context(), r.Method, to, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(request)
}

func TestCheckIssuer(t *testing.T) {
	t.Parallel()
	for url, good := range map[string]bool{
		"https://login.example.com":           true,
		"https://login.example.com/realms/x/": true,
		"http://localhost:8080/realms/x":      true,
		"http://127.0.0.1:1":                  true,
		"http://[::1]:1":                      true,
		"http://login.example.com":            false,
		"http://localhost.evil.com":           false,
		"login.example.com":                   false,
		"https://":                            false,
		"https://a#b":                         false,
		"https://a#":                          false,
		"https://a?b=c":                       false,
		"https://u:p@a":                       false,
		"ftp://a":                             false,
		"":                                    false,
		"https://login.example.com/" + strings.Repeat("long/", 30): false,
	} {
		if err := auth.CheckIssuerURL(url); (err == nil) != good {
			t.Errorf("%s: %v", url, err)
		}
	}
	for name, good := range map[string]bool{"RS256": true, "EdDSA": true, "none": false, "HS256": false, "rs256": false, "": false} {
		if err := auth.CheckAlgorithm(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// BenchmarkVerify measures what a token costs in each request.
func BenchmarkVerify(b *testing.B) {
	for _, algorithm := range []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA} {
		b.Run(string(algorithm), func(b *testing.B) {
			v := newVerifierTest(b)
			v.Publish(authtest.NewKey(b, "k", algorithm))
			token := v.Token(b, "alice", nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.verifier.Verify(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
