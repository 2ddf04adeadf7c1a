package auth

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/calldibs/dibs/internal/access"
)

const (
	firstBackoff = time.Second // after a failed discovery
	maxBackoff   = 30 * time.Second
	// The keys of an issuer are fetched at most three times at once, and then every ten
	// seconds: tokens with invented key ids must not flood the issuer with requests.
	fetchKeysEvery = 10 * time.Second
	fetchKeysBurst = 3
)

// If go-jose refuses one key as too large, go-oidc refuses the whole set, even if that key
// signs nothing. The keys come from trusted issuers only, so go-jose's limit against hostile
// keys can be higher.
func init() { jose.MaxRSAModulusBits = 8192 }

// issuerClient discovers an issuer and fetches its keys.
type issuerClient struct {
	Issuer
	options   TokenOptions
	flight    singleflight.Group
	fetchKeys *fetcher

	mu      sync.Mutex
	keys    oidc.KeySet // nil means not discovered yet
	backoff time.Duration
	next    time.Time // of the next attempt
}

func newIssuerClient(issuer Issuer, o TokenOptions) *issuerClient {
	c := &issuerClient{Issuer: issuer, options: o}
	limit := rate.NewLimiter(rate.Every(fetchKeysEvery), fetchKeysBurst)
	c.fetchKeys = &fetcher{transport: o.Transport, limit: limit, now: o.Now, report: c.report}
	return c
}

var errNoAnswer = refuse(access.IssuerUnavailable,
	"the issuer of this token does not answer, so the token cannot be verified: try again in a moment")

// ready returns the keys of the issuer. The first caller discovers the issuer, and
// concurrent callers wait for that. After a failure ready fails at once until the backoff
// is over.
func (c *issuerClient) ready(ctx context.Context) (oidc.KeySet, error) {
	keys, next := c.state()
	switch {
	case keys != nil:
		return keys, nil
	case c.options.Now().Before(next):
		return nil, errNoAnswer
	}
	// Discovery must not end with the context of this caller: others wait for it, too.
	found := c.flight.DoChan("", func() (any, error) { return c.discover(context.Background()) })
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-found:
		if result.Err != nil {
			return nil, errNoAnswer
		}
		return result.Val.(oidc.KeySet), nil
	}
}

func (c *issuerClient) state() (keys oidc.KeySet, next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys, c.next
}

// discover fetches the issuer's metadata, unless another call has just done so.
func (c *issuerClient) discover(ctx context.Context) (oidc.KeySet, error) {
	if known, _ := c.state(); known != nil {
		return known, nil
	}
	keys, err := c.fetchMetadata(ctx)
	c.report(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.backoff = min(max(2*c.backoff, firstBackoff), maxBackoff)
		c.next = c.options.Now().Add(c.backoff)
		return nil, err
	}
	c.keys = keys
	return keys, nil
}

// report logs a failure, and reports whether the issuer answers.
func (c *issuerClient) report(err error) {
	if err != nil {
		c.options.Logger.Warn("an issuer of tokens does not answer; its tokens are refused until it does", "issuer", c.URL, "error", err)
	}
	if c.options.Report != nil {
		c.options.Report(c.URL, err == nil)
	}
}

// fetchMetadata returns the set of keys that the issuer's metadata names.
func (c *issuerClient) fetchMetadata(ctx context.Context) (oidc.KeySet, error) {
	metadata := &fetcher{transport: c.options.Transport}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, metadata.client()), c.URL)
	if err != nil {
		return nil, err
	}
	var endpoints struct {
		KeysURL string `json:"jwks_uri"`
	}
	if err := provider.Claims(&endpoints); err != nil {
		return nil, err
	}
	if endpoints.KeysURL == "" {
		return nil, errors.New("the issuer's metadata has no jwks_uri")
	}
	return oidc.NewRemoteKeySet(oidc.ClientContext(ctx, c.fetchKeys.client()), endpoints.KeysURL), nil
}
