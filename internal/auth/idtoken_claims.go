package auth

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/exactjson"
)

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
