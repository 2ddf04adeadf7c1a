package idtoken

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/calldibs/dibs/internal/access"
)

const (
	firstPause = time.Second // after a discovery that failed
	maxPause   = 30 * time.Second
)

// A key that is too large for go-jose makes go-oidc refuse the whole set that it is in,
// also if it signs nothing. All keys that are read here are of issuers that the
// configuration names, so go-jose's guard against strangers can be wider.
func init() { jose.MaxRSAModulusBits = 8192 }

// trust is an issuer with what is known of it.
type trust struct {
	Issuer
	parent *Tokens
	flight singleflight.Group

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier // nil: it was not reached yet
	pause    time.Duration         // before the next attempt
	next     time.Time
}

// ready returns what checks the issuer's tokens. Whoever comes first discovers the
// issuer, and all who come meanwhile wait for that; after a failure nobody waits, until
// it is time for another attempt.
func (t *trust) ready(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	t.mu.Lock()
	verifier, next := t.verifier, t.next
	t.mu.Unlock()
	switch {
	case verifier != nil:
		return verifier, nil
	case t.parent.now().Before(next):
		return nil, errNoAnswer
	}
	// Not by the caller's context: the others wait for it as well.
	found := t.flight.DoChan("", func() (any, error) { return t.discover(context.Background()) })
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-found:
		if result.Err != nil {
			return nil, errNoAnswer
		}
		return result.Val.(*oidc.IDTokenVerifier), nil
	}
}

var errNoAnswer = refuse(access.IssuerUnavailable, "the issuer of this token does not answer, so nobody can say whether it is good: try again in a moment")

// discover asks the issuer where its keys are.
func (t *trust) discover(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	t.mu.Lock()
	known := t.verifier
	t.mu.Unlock()
	if known != nil { // since the caller looked
		return known, nil
	}
	plain := &fetcher{transport: t.parent.transport}
	verifier, err := t.ask(oidc.ClientContext(ctx, plain.client()))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tell(err)
	if err != nil {
		t.pause = min(max(2*t.pause, firstPause), maxPause)
		t.next = t.parent.now().Add(t.pause)
		return nil, err
	}
	t.verifier = verifier
	return verifier, nil
}

// tell lets operators know whether the issuer answers.
func (t *trust) tell(err error) {
	if err != nil {
		t.parent.Logger.Warn("an issuer of tokens does not answer: its tokens are refused meanwhile", "issuer", t.URL, "error", err)
	}
	if t.parent.Report != nil {
		t.parent.Report(t.URL, err == nil)
	}
}

func (t *trust) ask(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	provider, err := oidc.NewProvider(ctx, t.URL)
	if err != nil {
		return nil, err
	}
	var metadata struct {
		KeysURL string `json:"jwks_uri"`
	}
	if err := provider.Claims(&metadata); err != nil {
		return nil, err
	}
	if metadata.KeysURL == "" {
		return nil, errors.New("the issuer does not say where its keys are")
	}
	bounded := &fetcher{
		transport: t.parent.transport, limit: rate.NewLimiter(rate.Every(askEvery), askBurst), now: t.parent.now, report: t.tell,
	}
	remote := oidc.NewRemoteKeySet(oidc.ClientContext(ctx, bounded.client()), metadata.KeysURL)
	return oidc.NewVerifier(t.URL, &keySet{remote, bounded}, &oidc.Config{
		SupportedSigningAlgs: t.Algorithms,
		SkipClientIDCheck:    true, // there may be several audiences, see check
		SkipExpiryCheck:      true, // and clocks that differ
	}), nil
}

// keySet is go-oidc's set of keys, which looks for new ones whenever a signature is not
// good. It notes why one is not: go-oidc does not tell.
type keySet struct {
	remote oidc.KeySet
	from   *fetcher
}

type whyKey struct{}

// VerifySignature returns what was signed.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.remote.VerifySignature(ctx, token)
	if err == nil {
		return payload, nil
	}
	why, _ := ctx.Value(whyKey{}).(*error)
	switch {
	case ctx.Err() != nil:
		*why = ctx.Err()
	case k.from.failed.Load():
		*why = errNoAnswer
	default:
		*why = refuse(access.TokenSignature, "this token is not signed by a key that its issuer has: get a new one")
	}
	return nil, err
}

// defaultTransport is a copy, so that nobody else's settings matter.
func defaultTransport() http.RoundTripper {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		return t.Clone()
	}
	return http.DefaultTransport
}
