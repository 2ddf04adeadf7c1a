package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/exactjson"
)

// Issuer is a trusted OpenID Connect issuer, and the rights of its tokens.
type Issuer struct {
	// URL is the issuer's name, exactly as in its tokens.
	URL string
	// Audience are the audiences that mean this server; at least one.
	Audience []string
	// Algorithms are the accepted signature algorithms. None means RS256, ES256 and EdDSA.
	Algorithms []string
	// Subject is the claim that identifies the caller. Empty means "sub".
	Subject string
	// Leeway is the tolerated difference between clocks. Zero means none.
	Leeway time.Duration
	// Grants are the rights of every valid token. None means that only Rules grant rights.
	Grants []access.Grant
	// Rules grant rights to tokens with certain claims. All rules that match apply.
	Rules []ClaimRule
	// Browser is how browsers sign in.
	Browser Browser
}

// ClaimRule grants rights to tokens with a value in a claim.
type ClaimRule struct {
	// Claim is the claim's name; further names lead into claims that are objects.
	Claim []string
	// Value is the claim's text, or an element of its list.
	Value string
	// Grants are the rights; at least one.
	Grants []access.Grant
}

// DefaultLeeway is the leeway of an issuer without that setting.
const DefaultLeeway = time.Minute

// MaxLeeway is the maximum leeway: an expired token must not work much longer.
const MaxLeeway = 5 * time.Minute

// maxURL leaves room for a subject in the name of a principal.
const maxURL = 120

var defaultAlgorithms = []string{oidc.RS256, oidc.ES256, oidc.EdDSA}

// algorithms are the supported ones, with which only the issuer can sign: neither "none" nor
// those with a shared secret.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// CheckIssuerURL reports what is wrong with the URL of an issuer.
func CheckIssuerURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return errors.New("must be the issuer's URL, exactly as in its tokens: https://login.example.com")
	case !confidential(u):
		return errors.New("must begin with https://: an attacker on the network could replace the issuer's keys. " +
			"http:// is allowed for this machine only")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return errors.New("must not have a user, a ? or a # in it")
	case len(text) > maxURL:
		return fmt.Errorf("has %d bytes, more than the %d allowed", len(text), maxURL)
	}
	return nil
}

// confidential reports whether a URL uses HTTPS or does not leave this machine.
func confidential(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// CheckAlgorithm reports what is wrong with the name of an algorithm.
func CheckAlgorithm(name string) error {
	if slices.Contains(algorithms, name) {
		return nil
	}
	return fmt.Errorf("%q is not a supported signature algorithm: use one of %s", name, strings.Join(algorithms, ", "))
}

// principal returns the name of a subject in events, quotas and holds. It is unique: the
// name of an API key has no colon, and the URL of an issuer no #.
func (i Issuer) principal(subject string) string { return "oidc:" + i.URL + "#" + subject }

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
	at      endpoints   // once it is discovered
	backoff time.Duration
	next    time.Time // of the next attempt
}

func newIssuerClient(issuer Issuer, o TokenOptions) *issuerClient {
	c := &issuerClient{Issuer: issuer, options: o}
	limit := rate.NewLimiter(rate.Every(fetchKeysEvery), fetchKeysBurst)
	c.fetchKeys = &fetcher{transport: o.Transport, timeout: o.fetchTimeout, limit: limit, now: o.Now, report: c.report}
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
	keys, at, err := c.fetchMetadata(ctx)
	c.report(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.backoff = min(max(2*c.backoff, firstBackoff), maxBackoff)
		c.next = c.options.Now().Add(c.backoff)
		return nil, err
	}
	c.keys, c.at = keys, at
	return keys, nil
}

// endpoints are the URLs of an issuer, from its metadata.
type endpoints struct {
	Keys          string   `json:"jwks_uri"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
}

// endpoints returns the URLs of an issuer that is discovered.
func (c *issuerClient) endpoints() endpoints {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
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

// fetchMetadata returns the URLs of the issuer's metadata, and the set of keys that they lead to.
func (c *issuerClient) fetchMetadata(ctx context.Context) (_ oidc.KeySet, at endpoints, _ error) {
	metadata := &fetcher{transport: c.options.Transport, timeout: c.options.fetchTimeout}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, metadata.client()), c.URL)
	if err != nil {
		return nil, at, err
	}
	if err := provider.Claims(&at); err != nil {
		return nil, at, err
	}
	if at.Keys == "" {
		return nil, at, errors.New("the issuer's metadata has no jwks_uri")
	}
	return oidc.NewRemoteKeySet(oidc.ClientContext(ctx, c.fetchKeys.client()), at.Keys), at, nil
}

const (
	fetchTimeout = 5 * time.Second
	maxDocument  = 1 << 20
)

var errTooSoon = errors.New("the issuer's keys were fetched just now")

// fetcher fetches the documents of an issuer. It is the transport of the HTTP client of
// go-oidc, and adds the limits that go-oidc lacks.
type fetcher struct {
	transport http.RoundTripper
	timeout   time.Duration
	limit     *rate.Limiter // nil means no limit; then now and report are not used
	now       func() time.Time
	report    func(error) // called with the result of each request
	failed    atomic.Bool // the last request failed
}

func (f *fetcher) client() *http.Client { return &http.Client{Transport: f, Timeout: f.timeout} }

// RoundTrip fetches a document, or returns a redirect to it. It fails if the status is
// neither 200 nor a redirect, and if the document is too large or not JSON.
func (f *fetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.limit == nil {
		return f.fetch(r)
	}
	if !f.limit.AllowN(f.now(), 1) {
		return nil, errTooSoon
	}
	response, err := f.fetch(r)
	f.failed.Store(err != nil)
	f.report(err)
	return response, err
}

func (f *fetcher) fetch(r *http.Request) (*http.Response, error) {
	if !confidential(r.URL) {
		return nil, errors.New("a document of the issuer is at a URL without https://")
	}
	response, err := f.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices && response.StatusCode < http.StatusBadRequest {
		return response, nil // the client follows it, through this transport
	}
	defer func() { _ = response.Body.Close() }()
	document, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the issuer answered %s", response.Status)
	case len(document) > maxDocument:
		return nil, fmt.Errorf("a document of the issuer has more than %d bytes", maxDocument)
	}
	// Metadata and keys must not be such that two parsers can read them differently.
	object, err := exactjson.Object(document)
	switch {
	case err != nil:
		return nil, fmt.Errorf("a document of the issuer cannot be parsed: %w", err)
	case exactjson.HasVariant(object, "issuer", "jwks_uri", "keys", "authorization_endpoint", "token_endpoint", "id_token"):
		return nil, errors.New("a document of the issuer has a member that differs from an expected name only in letter case")
	}
	response.Body = io.NopCloser(bytes.NewReader(document))
	return response, nil
}
