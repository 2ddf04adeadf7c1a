package idtoken

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

// maxPrincipal is how long the name of a principal may be; package dibs has the same
// bound.
const maxPrincipal = 255

// claims are what a token says.
type claims map[string]any

// registered are the claims that count for every issuer, each a path of one name.
var registered = [][]string{{"iss"}, {"sub"}, {"aud"}, {"exp"}, {"nbf"}, {"iat"}}

// claimPaths returns the claims that count for an issuer: names that lead into objects.
func (i Issuer) claimPaths() [][]string {
	paths := append(slices.Clip(registered), []string{i.subjectClaim()})
	for _, rule := range i.Rules {
		if len(rule.Claim) > 0 {
			paths = append(paths, rule.Claim)
		}
	}
	return paths
}

// readClaims reads the payload of a token. It must have no member twice, and none whose
// name is one of these claims but for the case of its letters.
func readClaims(payload []byte, paths [][]string) (claims, error) {
	c, err := readObject(payload)
	switch {
	case err != nil:
		return nil, err
	case misspelled(c, paths):
		return nil, errAmbiguous
	}
	return c, nil
}

// misspelled reports whether a member on the way to a claim has its name in another case.
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
	for name, further := range inside {
		if nested, ok := object[name].(map[string]any); ok && misspelled(nested, further) {
			return true
		}
	}
	return false
}

// moment returns a claim that is a date, in seconds.
func (c claims) moment(name string) (at time.Time, set bool) {
	switch seconds := c[name].(type) {
	case nil:
		return time.Time{}, false
	case float64:
		// A date that is beyond all dates is not yet, or over, all the same.
		const most = 1 << 40
		return time.Unix(int64(min(max(seconds, -most), most)), 0), true
	default: // a date that cannot be read
		return time.Time{}, true
	}
}

// values returns the texts of a claim, which is a text or a list. Scopes are a list in one
// text (RFC 6749, section 3.3).
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

// subjectClaim returns the name of the claim that says who it is.
func (i Issuer) subjectClaim() string { return cmp.Or(i.Subject, "sub") }

// caller returns who has a token, and what it may.
func (i Issuer) caller(c claims) (access.Caller, error) {
	subject, ok := c[i.subjectClaim()].(string)
	principal := i.principal(subject)
	switch {
	case !ok || subject == "":
		return access.Caller{}, refuse(access.TokenMalformed, "this token does not say whose it is: it has no claim for the subject")
	case len(principal) > maxPrincipal || !utf8.ValidString(subject) || strings.ContainsFunc(subject, unicode.IsControl):
		return access.Caller{}, refuse(access.TokenMalformed, "this token's subject is too long for a name, or has control characters in it")
	}
	caller := access.Caller{Name: principal, Grants: i.Grants}
	for _, rule := range i.Rules {
		if slices.Contains(c.values(rule.Claim), rule.Value) {
			caller.Grants = append(slices.Clip(caller.Grants), rule.Grants...)
		}
	}
	return caller, nil
}
