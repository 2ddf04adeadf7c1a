package auth

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/exactjson"
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

	fetchTimeout time.Duration // for tests; zero means the constant
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
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	o.fetchTimeout = cmp.Or(o.fetchTimeout, fetchTimeout)
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

// maxHeader is the maximum size of a token's header in bytes.
const maxHeader = 2 << 10

var (
	errMalformed = refuse(access.TokenMalformed, "this token is malformed: it must be a signed JWT")
	errAmbiguous = refuse(access.TokenMalformed,
		"this token has a duplicate member, or one that differs from an expected name only in letter case")
	errHeader = refuse(access.TokenMalformed, "the header of this token must have only an algorithm, a key id and plain values: "+
		"keys, references to keys, lists and objects are refused")
)

// peek reads the algorithm and the issuer of a token before its signature is verified. It
// refuses tokens that are unsafe for the libraries, which process all members of a header
// and read "ISS" as "iss".
func peek(token string) (algorithm, issuer string, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", "", errMalformed
	}
	if algorithm, err = peekHeader(parts[0]); err != nil {
		return "", "", err
	}
	claims, err := decode(parts[1])
	if err == nil && exactjson.HasVariant(claims, "iss") { // the other claims depend on the issuer
		err = errAmbiguous
	}
	issuer, _ = claims["iss"].(string)
	return algorithm, issuer, err
}

// plainHeaders are the members of a header that must be texts.
var plainHeaders = []string{"alg", "kid", "typ", "cty"}

// refusedHeaders contain a key, refer to one, or change how a token is parsed. Only keys
// that the issuer publishes may verify a token.
var refusedHeaders = []string{"jwk", "jku", "x5u", "x5c", "crit", "b64", "enc", "zip", "epk", "apu", "apv", "iv", "tag", "p2s", "p2c"}

// peekHeader returns the algorithm of a header. Other members are ignored (RFC 7515,
// section 4) if they are plain values.
func peekHeader(part string) (algorithm string, err error) {
	if base64.RawURLEncoding.DecodedLen(len(part)) > maxHeader {
		return "", refuse(access.TokenTooLarge, "the header of this token has more than 2 KiB")
	}
	header, err := decode(part)
	if err != nil {
		return "", err
	}
	if exactjson.HasVariant(header, plainHeaders...) {
		return "", errAmbiguous
	}
	for name, value := range header {
		_, isText := value.(string)
		switch value.(type) {
		case map[string]any, []any:
			return "", errHeader
		}
		if slices.Contains(refusedHeaders, strings.ToLower(name)) || slices.Contains(plainHeaders, name) && !isText {
			return "", errHeader
		}
	}
	algorithm, _ = header["alg"].(string)
	return algorithm, nil
}

// decode decodes a part of a token. It refuses line breaks, which package base64 ignores, and
// unused bits at the end, which go-jose ignores: each part has only one encoding.
func decode(part string) (map[string]any, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil || strings.ContainsAny(part, "\r\n") {
		return nil, errMalformed
	}
	return readObject(data)
}

// readObject parses an object without duplicate members.
func readObject(text []byte) (map[string]any, error) {
	object, err := exactjson.Object(text)
	switch {
	case errors.Is(err, exactjson.ErrDuplicate):
		return nil, errAmbiguous
	case err != nil:
		return nil, errMalformed
	}
	return object, nil
}

// maxPrincipal is the maximum length of a principal's name, the same as in package dibs.
const maxPrincipal = 255

// claims are the payload of a token.
type claims map[string]any

// registered are the paths of the claims that every token may have.
var registered = [][]string{{"iss"}, {"sub"}, {"aud"}, {"exp"}, {"nbf"}, {"iat"}}

// claimPaths returns the paths of all claims that are read from tokens of the issuer.
func (i Issuer) claimPaths() [][]string {
	paths := append(slices.Clip(registered), []string{i.subjectClaim()})
	for _, rule := range i.Rules {
		if len(rule.Claim) > 0 {
			paths = append(paths, rule.Claim)
		}
	}
	return paths
}

// readClaims parses the payload of a token. It refuses duplicate members, and names that
// differ from a claim on these paths only in letter case.
func readClaims(payload []byte, paths [][]string) (claims, error) {
	c, err := readObject(payload)
	if err == nil && misspelled(c, paths) {
		return nil, errAmbiguous
	}
	return c, err
}

// misspelled reports whether a member on one of the paths has a name in another case.
func misspelled(object map[string]any, paths [][]string) bool {
	var names []string
	inside := make(map[string][][]string)
	for _, path := range paths {
		names = append(names, path[0])
		if len(path) > 1 {
			inside[path[0]] = append(inside[path[0]], path[1:])
		}
	}
	if exactjson.HasVariant(object, names...) {
		return true
	}
	for name, rest := range inside {
		if nested, ok := object[name].(map[string]any); ok && misspelled(nested, rest) {
			return true
		}
	}
	return false
}

// time returns a claim that is a Unix time in seconds. A claim of another type is set, with
// the zero time.
func (c claims) time(name string) (at time.Time, set bool) {
	switch seconds := c[name].(type) {
	case nil:
		return time.Time{}, false
	case float64:
		// Bounded, so that the conversion does not overflow.
		const bound = 1 << 40
		return time.Unix(int64(min(max(seconds, -bound), bound)), 0), true
	default:
		return time.Time{}, true
	}
}

// values returns the texts of a claim, which is a text or a list. Scopes are one text with
// spaces between them (RFC 6749, section 3.3).
func (c claims) values(path []string) []string {
	var value any = map[string]any(c)
	for _, name := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	switch v := value.(type) {
	case string:
		if len(path) == 1 && (path[0] == "scope" || path[0] == "scp") {
			return strings.Fields(v)
		}
		return []string{v}
	case []any:
		var texts []string
		for _, item := range v {
			if text, ok := item.(string); ok {
				texts = append(texts, text)
			}
		}
		return texts
	default:
		return nil
	}
}

func (i Issuer) subjectClaim() string { return cmp.Or(i.Subject, "sub") }

// caller returns the caller that verified claims identify.
func (i Issuer) caller(c claims) (access.Caller, error) {
	subject, ok := c[i.subjectClaim()].(string)
	principal := i.principal(subject)
	switch {
	case !ok || subject == "":
		return access.Caller{}, refuse(access.TokenMalformed, "this token has no claim for the subject")
	case len(principal) > maxPrincipal || !utf8.ValidString(subject) || strings.ContainsFunc(subject, unicode.IsControl):
		return access.Caller{}, refuse(access.TokenMalformed, "the subject of this token is too long, or has control characters in it")
	}
	caller := access.Caller{Name: principal, Grants: i.Grants}
	for _, rule := range i.Rules {
		if slices.Contains(c.values(rule.Claim), rule.Value) {
			caller.Grants = append(slices.Clip(caller.Grants), rule.Grants...)
		}
	}
	return caller, nil
}
