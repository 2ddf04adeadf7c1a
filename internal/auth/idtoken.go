package auth

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/calldibs/dibs/internal/access"
)

// maxToken is the maximum size of a token in bytes.
const maxToken = 16 << 10

// TokenOptions are the options of a [TokenVerifier]. The zero TokenOptions are usable.
type TokenOptions struct {
	// Logger logs issuers that do not answer, never tokens. Nil means no log.
	Logger *slog.Logger
	// Report is called after each request to an issuer; up is whether it answered. It may
	// be nil.
	Report func(issuer string, up bool)
	// Transport sends the requests to issuers. Nil means [http.DefaultTransport].
	Transport http.RoundTripper
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
}

// TokenVerifier verifies tokens of OpenID Connect issuers: JWTs that a trusted issuer
// signed, for this server, and that are valid now. It is safe for concurrent use. Make one
// with [NewTokenVerifier].
//
// It fetches an issuer's keys for the first token of that issuer, and again, at a bounded
// rate, for a token with an unknown key. While an issuer is down, only its own tokens are
// refused.
type TokenVerifier struct {
	TokenOptions
	issuers map[string]*issuerClient
}

// NewTokenVerifier returns a verifier of the tokens of these issuers. It sends no request
// yet.
func NewTokenVerifier(issuers []Issuer, o TokenOptions) *TokenVerifier {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	v := &TokenVerifier{TokenOptions: o, issuers: make(map[string]*issuerClient)}
	for _, issuer := range issuers {
		if len(issuer.Algorithms) == 0 {
			issuer.Algorithms = defaultAlgorithms
		}
		v.issuers[issuer.URL] = newIssuerClient(issuer, o)
	}
	return v
}

// Discover contacts all issuers, so that the log and the metrics soon show if one does not
// answer. Verify works without it.
func (v *TokenVerifier) Discover(ctx context.Context) {
	for _, issuer := range v.issuers {
		_, _ = issuer.ready(ctx) // the client has logged the error
	}
}

// looksLikeToken reports whether a text has two dots, as a token has. An API key has none.
func looksLikeToken(text string) bool { return strings.Count(text, ".") == 2 }

// Verify returns the caller that a token identifies. If it refuses the token, the error is an
// [*access.RefusedError].
func (v *TokenVerifier) Verify(ctx context.Context, token string) (access.Caller, error) {
	if len(token) > maxToken {
		return access.Caller{}, refuse(access.TokenTooLarge, "this token has more than 16 KiB")
	}
	algorithm, issuerURL, err := peek(token)
	if err != nil {
		return access.Caller{}, err
	}
	issuer := v.issuers[issuerURL]
	switch {
	case issuer == nil:
		return access.Caller{}, refuse(access.TokenIssuer, "this server does not trust the issuer of this token")
	case !slices.Contains(issuer.Algorithms, algorithm):
		return access.Caller{}, refuse(access.TokenAlgorithm, "this token is not signed with an algorithm that this server accepts")
	}
	claims, err := issuer.verifiedClaims(ctx, token)
	if err != nil {
		return access.Caller{}, err
	}
	if err := issuer.check(claims, v.Now()); err != nil {
		return access.Caller{}, err
	}
	return issuer.caller(claims)
}

// verifiedClaims returns the claims of a token whose signature is valid.
func (c *issuerClient) verifiedClaims(ctx context.Context, token string) (claims, error) {
	published, err := c.ready(ctx)
	if err != nil {
		return nil, err
	}
	keys := &keySet{KeySet: published}
	verified, err := oidc.NewVerifier(c.URL, keys, &oidc.Config{
		SupportedSigningAlgs: c.Algorithms,
		SkipClientIDCheck:    true, // Issuer.check accepts several audiences
		SkipExpiryCheck:      true, // Issuer.check tolerates clocks that differ
	}).Verify(ctx, token)
	switch {
	case err == nil:
	case keys.err == nil:
		return nil, errMalformed
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case c.fetchKeys.failed.Load():
		return nil, errNoAnswer
	default:
		return nil, refuse(access.TokenSignature, "this token is not signed by a key of its issuer: get a new one")
	}
	var payload json.RawMessage
	if err := verified.Claims(&payload); err != nil {
		return nil, errMalformed
	}
	return readClaims(payload, c.claimPaths())
}

// keySet keeps the error of VerifySignature, which go-oidc's Verify does not wrap.
type keySet struct {
	oidc.KeySet
	err error
}

func (k *keySet) VerifySignature(ctx context.Context, token string) (payload []byte, err error) {
	payload, k.err = k.KeySet.VerifySignature(ctx, token)
	return payload, k.err
}

// check returns an error unless the claims are of this issuer, for this server, and valid now.
func (i Issuer) check(c claims, now time.Time) error {
	// Verify read the issuer before the signature was verified, and go-oidc compares
	// issuers less strictly.
	if c["iss"] != i.URL {
		return refuse(access.TokenIssuer, "this token is of another issuer than it says")
	}
	forUs := func(audience string) bool { return slices.Contains(i.Audience, audience) }
	if !slices.ContainsFunc(c.values([]string{"aud"}), forUs) {
		return refuse(access.TokenAudience, "this token is for another audience than this server")
	}
	end, set := c.time("exp")
	switch {
	case !set:
		return refuse(access.TokenMalformed, "this token has no expiry: it needs the claim exp")
	case !now.Before(end.Add(i.Leeway)):
		return refuse(access.TokenExpired, "this token has expired: get a new one")
	}
	for _, name := range []string{"nbf", "iat"} {
		if begin, set := c.time(name); set && (begin.IsZero() || begin.After(now.Add(i.Leeway))) {
			return refuse(access.TokenNotYet, "this token is not valid yet: check the clocks of the issuer and of this server")
		}
	}
	return nil
}
