package auth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/memstore"
)

// FuzzKeys checks that every secret is unknown except the one that was given out.
func FuzzKeys(f *testing.F) {
	keys := auth.NewKeyStore(memstore.New(memstore.Config{}))
	_, secret, err := keys.Create(f.Context(), auth.Key{Name: "ci", Grants: access.Everything.Grants})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(secret)
	f.Add(secret[:len(secret)-1])
	f.Add(strings.ToUpper(secret))
	f.Add("dibs_")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		for _, shown := range []string{text, secret[:len(secret)/2] + text, text + secret} {
			key, err := keys.Find(t.Context(), shown)
			switch {
			case shown == secret && err != nil:
				t.Errorf("the secret is refused: %v", err)
			case shown != secret && !errors.Is(err, auth.ErrUnknownKey):
				t.Errorf("%q is %+v, %v", shown, key, err)
			}
		}
	})
}

// FuzzIssuer lets an issuer answer with any documents: its tokens are refused, with a reason.
func FuzzIssuer(f *testing.F) {
	var metadata, set atomic.Value
	var url string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		document := metadata.Load().(string)
		if r.URL.Path == "/keys" {
			document = set.Load().(string)
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(document, "URL", url)))
	}))
	f.Cleanup(server.Close)
	url = server.URL
	// The token is signed by a key that no document has.
	other := newVerifierTest(f)
	token := other.Token(f, "alice", claims{"iss": url})
	f.Add(`{"issuer": "URL", "jwks_uri": "URL/keys"}`, `{"keys": []}`)
	f.Add(`{"issuer": "URL", "jwks_uri": "URL/keys", "jwks_uri": "URL/keys"}`, `{"keys": [{"kty": "EC", "crv": "P-256", "x": "", "y": ""}]}`)
	f.Add(`{"issuer": "URL", "jwks_uri": "URL/keys"}`, `{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "k", "alg": "none"}, null]}`)
	f.Add(`<html>`, `[]`)
	f.Fuzz(func(t *testing.T, document, keys string) {
		metadata.Store(document)
		set.Store(keys)
		v := newVerifierTest(t, func(i *auth.Issuer) { i.URL = url })
		_, err := v.verifier.Verify(t.Context(), token)
		if refused, ok := errors.AsType[*access.RefusedError](err); !ok || refused.Detail == "" {
			t.Errorf("%q, %q: %v", document, keys, err)
		}
	})
}
