package idtoken

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs/internal/access"
)

// MaxToken is how many bytes a token may have.
const MaxToken = 16 << 10

// Options are what Tokens works with beside its issuers. The zero Options are good ones.
type Options struct {
	// Logger is told about issuers that do not answer, never about tokens. Nil means
	// nobody is told.
	Logger *slog.Logger
	// Report is called when an issuer was asked, with whether it answered. Nil means
	// that nobody wants to know.
	Report func(issuer string, up bool)
	// Transport is how issuers are reached. Nil means as by default.
	Transport http.RoundTripper
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
}

// Tokens finds out who has a token. It is safe for concurrent use. Make one with [New].
type Tokens struct {
	Options
	issuers   map[string]*trust
	transport http.RoundTripper
}

// New returns what lets in tokens of these issuers, which are not asked for anything
// yet.
func New(issuers []Issuer, o Options) *Tokens {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	t := &Tokens{Options: o, issuers: make(map[string]*trust), transport: o.Transport}
	if t.transport == nil {
		t.transport = defaultTransport()
	}
	for _, issuer := range issuers {
		if len(issuer.Algorithms) == 0 {
			issuer.Algorithms = DefaultAlgorithms()
		}
		t.issuers[issuer.URL] = &trust{Issuer: issuer, parent: t}
	}
	return t
}

func (t *Tokens) now() time.Time { return t.Now() }

// Discover asks all issuers where their keys are, so that it is known soon if one does
// not answer. Nobody needs to wait for it.
func (t *Tokens) Discover(ctx context.Context) {
	for _, issuer := range t.issuers {
		_, _ = issuer.ready(ctx) // it was logged
	}
}

// Looks reports whether a text has the form of a token: three parts with dots between
// them, which no API key has.
func Looks(text string) bool { return strings.Count(text, ".") == 2 }

// Find returns who has a token. Whoever is not let in gets an [*access.RefusedError].
func (t *Tokens) Find(ctx context.Context, token string) (access.Caller, error) {
	if len(token) > MaxToken {
		return access.Caller{}, refuse(access.TokenTooLarge, "this token has more than 16 KiB")
	}
	said, err := peek(token)
	if err != nil {
		return access.Caller{}, err
	}
	issuer := t.issuers[said.issuer]
	switch {
	case issuer == nil:
		return access.Caller{}, refuse(access.TokenIssuer, "this server does not trust the issuer of this token")
	case !slices.Contains(issuer.Algorithms, said.algorithm):
		return access.Caller{}, refuse(access.TokenAlgorithm, "this token is not signed by an algorithm that counts here")
	}
	claims, err := issuer.verify(ctx, token)
	if err != nil {
		return access.Caller{}, err
	}
	if err := issuer.check(claims, t.now()); err != nil {
		return access.Caller{}, err
	}
	return issuer.caller(claims)
}

// verify returns what a token says, if its issuer has signed it.
func (t *trust) verify(ctx context.Context, token string) (claims, error) {
	verifier, err := t.ready(ctx)
	if err != nil {
		return nil, err
	}
	var why error
	good, err := verifier.Verify(context.WithValue(ctx, whyKey{}, &why), token)
	switch {
	case why != nil:
		return nil, why
	case err != nil:
		return nil, errMalformed
	}
	var payload json.RawMessage
	if err := good.Claims(&payload); err != nil {
		return nil, errMalformed
	}
	return readClaims(payload, t.claimPaths())
}

// check says whether a token is of this issuer, for this server, and now.
func (t *trust) check(c claims, now time.Time) error {
	// Which issuer to ask was read before the signature was checked, and go-oidc compares
	// issuers by a looser reading.
	if c["iss"] != t.URL {
		return refuse(access.TokenIssuer, "this token is of another issuer than it says")
	}
	forUs := func(audience string) bool { return slices.Contains(t.Audience, audience) }
	if !slices.ContainsFunc(c.values([]string{"aud"}), forUs) {
		return refuse(access.TokenAudience, "this token is meant for another audience than this server")
	}
	end, set := c.moment("exp")
	switch {
	case !set:
		return refuse(access.TokenMalformed, "this token has no end: it needs the claim exp")
	case !now.Before(end.Add(t.Leeway)):
		return refuse(access.TokenExpired, "this token's time is over: get a new one")
	}
	for _, name := range []string{"nbf", "iat"} {
		if begin, set := c.moment(name); set && (begin.IsZero() || begin.After(now.Add(t.Leeway))) {
			return refuse(access.TokenNotYet, "this token's time has not come yet: does the clock of its issuer go ahead?")
		}
	}
	return nil
}

func refuse(reason access.Reason, detail string) *access.RefusedError {
	return &access.RefusedError{Reason: reason, Detail: detail}
}
