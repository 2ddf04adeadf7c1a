package idtoken_test

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
	"github.com/calldibs/dibs/internal/idtoken"
	"github.com/calldibs/dibs/internal/signintest"
)

// An issuer that has new keys is asked for them, by the first token that needs them.
func TestRotation(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	old := d.Token(t, "alice", nil)
	d.accepted("the first key", old)
	next := signintest.NewKey(t, "second", jose.EdDSA)
	d.Publish(next, d.Keys()[0])
	d.accepted("the second key", d.Token(t, "alice", nil))
	d.accepted("the first one still", old)
	d.Publish(next)
	d.refused("no key of the issuer's", signintest.Sign(t, signintest.NewKey(t, "third", jose.ES256), d.Claims("alice", nil)), access.TokenSignature)
	d.refused("the first one, which was taken back", old, access.TokenSignature)
}

// Whoever makes up tokens does not make us bother the issuer.
func TestMadeUpKeys(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	good := d.Token(t, "alice", nil)
	stranger := signintest.NewKey(t, "", jose.ES256)
	flood := func() {
		var group sync.WaitGroup
		for n := range 50 {
			group.Go(func() {
				key := stranger
				key.ID = fmt.Sprint("made-up-", n)
				_, err := d.tokens.Find(t.Context(), signintest.Sign(t, key, d.Claims("alice", nil)))
				if err == nil {
					t.Error("a made-up key was believed")
				}
			})
		}
		group.Wait()
	}
	flood()
	if asked := d.Asked.Load(); asked > 3 {
		t.Errorf("the issuer was asked %d times", asked)
	}
	d.accepted("a good token meanwhile", good)
	for range 6 {
		d.clock.move(10 * time.Second)
		flood()
	}
	if asked := d.Asked.Load(); asked > 9 {
		t.Errorf("the issuer was asked %d times in a minute", asked)
	}
	// And yet a new key counts ten seconds later.
	d.Publish(signintest.NewKey(t, "second", jose.ES256))
	d.clock.move(10 * time.Second)
	d.accepted("a new key", d.Token(t, "alice", nil))
}

// An issuer that is down keeps out those who have its tokens, for no longer than it is.
func TestIssuerIsDown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Down.Store(true)
	token := d.Token(t, "alice", nil)
	d.tokens.Discover(t.Context())
	if up, told := d.up[d.URL]; up || !told || !strings.Contains(d.log.String(), d.URL) {
		t.Errorf("nobody is told: %v, %s", d.up, d.log)
	}
	for range 20 {
		d.refused("while it is down", token, access.IssuerUnavailable)
	}
	if n := d.Discovered.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	d.Down.Store(false)
	d.refused("before the next attempt", token, access.IssuerUnavailable)
	d.clock.move(time.Second)
	d.accepted("when it is back", token)
	if !d.up[d.URL] {
		t.Error("nobody is told that it is back")
	}

	d.Down.Store(true)
	d.accepted("keys are remembered", token)
	next := signintest.NewKey(t, "second", jose.ES256)
	d.Publish(next)
	d.refused("a new key, which cannot be had", d.Token(t, "alice", nil), access.IssuerUnavailable)
	if d.up[d.URL] {
		t.Error("nobody is told that it is gone again")
	}
	d.Down.Store(false)
	d.clock.move(10 * time.Second)
	d.accepted("the new key", d.Token(t, "alice", nil))
}

// Pauses between attempts grow, to half a minute.
func TestPausesGrow(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Down.Store(true)
	token := d.Token(t, "alice", nil)
	for range 10 * 60 {
		d.refused("down", token, access.IssuerUnavailable)
		d.clock.move(time.Second)
	}
	if n := d.Discovered.Load(); n < 20 || n > 26 {
		t.Errorf("%d attempts in ten minutes", n)
	}
}

// Many who come at once discover an issuer once.
func TestOneDiscovery(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	token := d.Token(t, "alice", nil)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { d.accepted("one of many", token) })
	}
	group.Wait()
	if d.Discovered.Load() != 1 || d.Asked.Load() > 3 {
		t.Errorf("discovered %d times, asked %d times", d.Discovered.Load(), d.Asked.Load())
	}
}

// An issuer that answers nonsense is one that does not answer.
func TestStrangeIssuers(t *testing.T) {
	t.Parallel()
	key := signintest.NewKey(t, "k", jose.ES256)
	metadata := func(keys string) string { return `{"issuer": "URL", "jwks_uri": "` + keys + `"}` }
	for what, answers := range map[string]map[string]string{
		"another's metadata":      {"/.well-known/openid-configuration": `{"issuer": "https://evil.example.com", "jwks_uri": "URL/keys"}`},
		"no JSON":                 {"/.well-known/openid-configuration": `<html>`},
		"no keys":                 {"/.well-known/openid-configuration": metadata("")},
		"keys that are not there": {"/.well-known/openid-configuration": metadata("URL/nowhere")},
		"keys that are no JSON":   {"/.well-known/openid-configuration": metadata("URL/keys"), "/keys": "none"},
		"keys without an end":     {"/.well-known/openid-configuration": metadata("URL/keys"), "/keys": `"` + strings.Repeat("x", 2<<20) + `"`},
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
		d := newDesk(t, func(i *idtoken.Issuer) { i.URL = url })
		d.refused(what, signintest.Sign(t, key, d.Claims("alice", claims{"iss": url})), access.IssuerUnavailable)
	}
}

// A large key among those of an issuer, which go-jose does not take by default, is no
// reason to refuse what the others sign.
func TestLargeKeyInTheSet(t *testing.T) {
	t.Parallel()
	issuer := signintest.NewIssuer(t)
	modulus := new(big.Int).Lsh(big.NewInt(1), 8192)
	modulus.Sub(modulus, big.NewInt(1)) // of 8192 bits; nothing is signed by it
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: &rsa.PublicKey{N: modulus, E: 65537}, KeyID: "large"},
		{Key: issuer.Keys()[0].Private.Public(), KeyID: issuer.Keys()[0].ID},
	}})
	if err != nil {
		t.Fatal(err)
	}
	way := &shortcut{t: t, answers: map[string]string{
		issuer.URL + "/.well-known/openid-configuration": fmt.Sprintf(`{"issuer": %q, "jwks_uri": %q}`, issuer.URL, issuer.URL+"/keys"),
		issuer.URL + "/keys":                             string(keys),
	}}
	tokens := idtoken.New([]idtoken.Issuer{{URL: issuer.URL, Audience: []string{"dibs"}}}, idtoken.Options{Transport: way})
	if _, err := tokens.Find(t.Context(), issuer.Token(t, "alice", nil)); err != nil {
		t.Error(err)
	}
}

// Keys that anybody on the way could replace are not believed, wherever they come from.
func TestKeysInTheOpen(t *testing.T) {
	t.Parallel()
	const keysURL = "http://keys.example.com/keys"
	for what, redirected := range map[string]bool{"named": false, "redirected to": true} {
		issuer := signintest.NewIssuer(t)
		keys := issuer.URL + "/keys"
		way := &shortcut{t: t, answers: map[string]string{
			issuer.URL + "/.well-known/openid-configuration": fmt.Sprintf(`{"issuer": %q, "jwks_uri": %q}`, issuer.URL, keysURL),
		}, leads: map[string]string{keysURL: keys}}
		if redirected {
			way.answers[issuer.URL+"/.well-known/openid-configuration"] = fmt.Sprintf(`{"issuer": %q, "jwks_uri": %q}`, issuer.URL, issuer.URL+"/elsewhere")
			way.redirects = map[string]string{issuer.URL + "/elsewhere": keysURL}
		}
		tokens := idtoken.New([]idtoken.Issuer{{URL: issuer.URL, Audience: []string{"dibs"}}}, idtoken.Options{Transport: way})
		_, err := tokens.Find(t.Context(), issuer.Token(t, "alice", nil))
		var refused *access.RefusedError
		if !errors.As(err, &refused) || refused.Reason != access.IssuerUnavailable || issuer.Asked.Load() > 0 {
			t.Errorf("%s: %v, keys were asked for %d times", what, err, issuer.Asked.Load())
		}
	}
}

// shortcut is a network in which requests for some addresses are answered here, and those
// for others lead elsewhere.
type shortcut struct {
	t                         *testing.T
	answers, redirects, leads map[string]string
}

func (s *shortcut) RoundTrip(r *http.Request) (*http.Response, error) {
	url := r.URL.String()
	answer := httptest.NewRecorder()
	if to := s.redirects[url]; to != "" {
		http.Redirect(answer, r, to, http.StatusFound)
		return answer.Result(), nil
	}
	if text := s.answers[url]; text != "" {
		answer.Header().Set("Content-Type", "application/json")
		_, _ = answer.WriteString(text)
		return answer.Result(), nil
	}
	to := s.leads[url]
	if to == "" {
		s.t.Errorf("somebody asks for %s", url)
		return nil, errors.New("there is nothing")
	}
	request, err := http.NewRequestWithContext(r.Context(), r.Method, to, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(request)
}

func TestCheckURL(t *testing.T) {
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
		if err := idtoken.CheckURL(url); (err == nil) != good {
			t.Errorf("%s: %v", url, err)
		}
	}
	for name, good := range map[string]bool{"RS256": true, "EdDSA": true, "none": false, "HS256": false, "rs256": false, "": false} {
		if err := idtoken.CheckAlgorithm(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// BenchmarkFind is what a token costs at each request.
func BenchmarkFind(b *testing.B) {
	for _, algorithm := range []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA} {
		b.Run(string(algorithm), func(b *testing.B) {
			d := newDesk(b)
			d.Publish(signintest.NewKey(b, "k", algorithm))
			token := d.Token(b, "alice", nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.tokens.Find(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
