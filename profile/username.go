package profile

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/secure/precis"

	"github.com/calldibs/dibs"
)

const (
	defaultMinUsername = 1
	defaultMaxUsername = 64

	maxUsernameBytes = 1024 // of any canonical form
)

// Username is the profile for names of accounts: UsernameCaseMapped of RFC 8265. Case and
// the width of letters do not count. It allows letters, digits and marks of all scripts, and
// every visible ASCII character, but no spaces, symbols and emoji. The zero Username is
// ready to use.
type Username struct {
	// MinLength is the minimum of characters of the canonical form. Zero or less means 1.
	MinLength int
	// MaxLength is the maximum of characters of the canonical form. Zero or less means 64.
	MaxLength int
}

var (
	_ dibs.Profile = Username{}
	_ dibs.Joiner  = Username{}
)

// usernames maps and checks UsernameCaseMapped except for the direction. The library's own
// UsernameCaseMapped applies the Bidi Rule also to names without right-to-left characters,
// unlike RFC 8265: it refuses "müller_".
var usernames = precis.NewIdentifier(precis.FoldWidth, precis.LowerCase())

// Name returns "username/1", followed by the lengths that are not the default.
func (u Username) Name() string {
	name := "username/1"
	if least := u.least(); least != defaultMinUsername {
		name += ";min=" + strconv.Itoa(least)
	}
	if most := u.most(); most != defaultMaxUsername {
		name += ";max=" + strconv.Itoa(most)
	}
	return name
}

// Canonical returns the username in lower case and Normalization Form C. Its errors are
// [*dibs.Refusal].
func (u Username) Canonical(value string) (string, error) {
	canonical, refusal := u.check(value)
	if refusal == nil {
		return canonical, nil
	}
	if try := u.repair(value); u.accepts(try) {
		refusal.Try = try
	}
	return "", refusal
}

// Join appends "-" and the word, or the word only if a hyphen is not allowed there. It cuts
// the username to the length that is left.
func (u Username) Join(canonical, word string) string {
	if canonical == "" || word == "" {
		return ""
	}
	for _, separator := range []string{"-", ""} {
		end := separator + word
		start := cutUsername(canonical, u.most()-utf8.RuneCountInString(end), maxUsernameBytes-len(end))
		if start != canonical {
			start = strings.TrimRight(start, "-")
		}
		if start == "" {
			continue
		}
		if joined, refusal := u.check(start + end); refusal == nil {
			return joined
		}
	}
	return ""
}

// check is Canonical without Refusal.Try.
func (u Username) check(value string) (string, *dibs.Refusal) {
	canonical, ok := asciiUsername(value)
	if !ok {
		var refusal *dibs.Refusal
		if canonical, refusal = preciseUsername(value); refusal != nil {
			return "", refusal
		}
	}
	if refusal := u.checkLength(canonical); refusal != nil {
		return "", refusal
	}
	return canonical, nil
}

func (u Username) accepts(value string) bool {
	_, refusal := u.check(value)
	return refusal == nil
}

func (u Username) checkLength(canonical string) *dibs.Refusal {
	length := utf8.RuneCountInString(canonical)
	switch least, most := u.least(), u.most(); {
	case length == 0:
		return refuse("empty", whole, "is empty")
	case length < least:
		return refuse("too_short", whole, "has %d characters, fewer than the %d needed", length, least)
	case length > most:
		return refuse("too_long", whole, "has %d characters, more than the %d allowed", length, most)
	case len(canonical) > maxUsernameBytes:
		return refuse("too_long", whole, "has %d bytes, more than the %d allowed", len(canonical), maxUsernameBytes)
	}
	return nil
}

func (u Username) least() int { return cmp.Or(max(u.MinLength, 0), defaultMinUsername) }

func (u Username) most() int { return cmp.Or(max(u.MaxLength, 0), defaultMaxUsername) }

// asciiUsername is the fast path of preciseUsername, for visible ASCII, all of which is
// allowed. It reports false for any other text.
func asciiUsername(value string) (canonical string, ok bool) {
	for i := range len(value) {
		if value[i] <= ' ' || value[i] > '~' {
			return "", false
		}
	}
	return strings.ToLower(value), true // without a copy if nothing changes
}

// preciseUsername applies RFC 8265 to any text until nothing changes: RFC 8264 does not
// promise that once is enough.
func preciseUsername(value string) (string, *dibs.Refusal) {
	canonical := value
	for range 4 {
		mapped, err := usernames.String(canonical)
		if err != nil {
			return "", usernameProblem(value)
		}
		if breaksBidiRule(mapped) {
			return "", directionProblem(value)
		}
		if mapped == canonical {
			return canonical, nil
		}
		canonical = mapped
	}
	return "", refuse("unstable", whole, "has no canonical form")
}
