package profile

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/secure/bidirule"
	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"

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
	try := u.repair(value)
	if _, again := u.check(try); again == nil {
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
	return canonical, u.checkLength(canonical)
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

// breaksBidiRule reports whether a text with right-to-left characters breaks the Bidi Rule
// of RFC 5893.
func breaksBidiRule(text string) bool {
	return bidirule.DirectionString(text) == bidi.RightToLeft && !bidirule.ValidString(text)
}

// directionProblem returns why and where a text breaks the Bidi Rule.
func directionProblem(value string) *dibs.Refusal {
	first, _ := utf8.DecodeRuneInString(value)
	rightToLeft := isRightToLeft(first)
	if !rightToLeft && bidiClass(first) != bidi.L {
		return refuse("direction_start", 0, "is written from right to left, and begins with %q instead of a letter", first)
	}
	digits := bidi.L // the class of the digits so far, L for none
	for i, r := range value {
		class := bidiClass(r)
		switch {
		case rightToLeft && class == bidi.L, !rightToLeft && (isRightToLeft(r) || class == bidi.AN):
			return refuse("direction_mixed", i, "mixes letters from left to right with letters from right to left, from %q on", r)
		case class == bidi.EN || class == bidi.AN:
			if digits != bidi.L && digits != class {
				return refuse("direction_digits", i, "mixes European and Arabic digits, from %q on", r)
			}
			digits = class
		}
	}
	last, size := utf8.DecodeLastRuneInString(value)
	return refuse("direction_end", len(value)-size, "is written from right to left, and ends with %q instead of a letter or digit", last)
}

// mayEnd are the classes with which a right-to-left text may end.
var mayEnd = []bidi.Class{bidi.L, bidi.R, bidi.AL, bidi.AN, bidi.EN, bidi.NSM}

// trimDirection removes characters with which a right-to-left text may not begin or end.
func trimDirection(text string) string {
	text = strings.TrimLeftFunc(text, func(r rune) bool {
		return !isRightToLeft(r) && bidiClass(r) != bidi.L
	})
	return strings.TrimRightFunc(text, func(r rune) bool {
		return !slices.Contains(mayEnd, bidiClass(r))
	})
}

func isRightToLeft(r rune) bool {
	class := bidiClass(r)
	return class == bidi.R || class == bidi.AL
}

func bidiClass(r rune) bidi.Class {
	properties, _ := bidi.LookupRune(r)
	return properties.Class()
}

// usernameProblem returns why RFC 8265 does not allow a text, and where. The library's error
// says neither.
func usernameProblem(value string) *dibs.Refusal {
	if !utf8.ValidString(value) {
		return refuse("utf8", whole, "is not valid UTF-8")
	}
	for at := 0; at < len(value); {
		part := nextUsernamePart(value[at:])
		if !usernamePartAllowed(part) {
			return usernameCharacterProblem(at, part)
		}
		at += len(part)
	}
	if at := misplaced(value); at >= 0 {
		r, _ := utf8.DecodeRuneInString(value[at:])
		return refuse("misplaced_character", at, "has %q (%U) between characters where it is not allowed", r, r)
	}
	return refuse("too_many_marks", whole, "has too many marks on a character")
}

// usernameCharacterProblem returns the refusal for a part of the value with a character that
// is not allowed.
func usernameCharacterProblem(at int, part string) *dibs.Refusal {
	r, _ := utf8.DecodeRuneInString(part)
	for i, candidate := range part {
		if !usernamePartAllowed(string(candidate)) {
			at, r = at+i, candidate
			break
		}
	}
	switch {
	case unicode.IsSpace(r):
		return refuse("space", at, "has a space (%U)", r)
	case unicode.IsSymbol(r):
		return refuse("symbol", at, "has the symbol %q (%U), which a username cannot have", r, r)
	}
	return refuse("character", at, "has the character %q (%U), which a username cannot have", r, r)
}

// nextUsernamePart returns the first character of a text with its marks: the part that
// normalizes independently of the rest.
func nextUsernamePart(text string) string {
	if n := norm.NFC.NextBoundaryInString(text, true); n > 0 {
		return text[:n]
	}
	return text
}

// usernamePartAllowed reports whether RFC 8265 allows all characters that a part maps to, at
// least in some contexts.
func usernamePartAllowed(part string) bool {
	if _, ok := asciiUsername(part); ok {
		return true
	}
	allowed := usernames.Allowed()
	for _, r := range mapUsername(part) {
		if !allowed.Contains(r) && !needsContext(r) {
			return false
		}
	}
	return true
}

// mapUsername applies the mappings of RFC 8265, without its checks.
func mapUsername(text string) string {
	return norm.NFC.String(lowerText(width.Fold.String(text)))
}

// needsContext reports whether RFC 5892, appendix A, allows a character only in certain
// contexts: joiners, middle dots, marks of Greek and Hebrew, and the two kinds of Arabic
// digits, which do not mix.
func needsContext(r rune) bool { return unicode.Is(contextual, r) }

// contextual includes 0387 and FF65, which are mapped to middle dots.
var contextual = rangeTable("00B7", "0375", "0387", "05F3-05F4", "0660-0669", "06F0-06F9", "200C-200D", "30FB", "FF65")

// misplaced returns the position of the first character that its context does not allow, or
// -1. It searches the least n for which the text with the first n characters that need a
// context, and without the others, is invalid.
func misplaced(value string) int {
	var places []int
	for i, r := range value {
		if needsContext(r) {
			places = append(places, i)
		}
	}
	n := sort.Search(len(places), func(n int) bool {
		_, size := utf8.DecodeRuneInString(value[places[n]:])
		end := places[n] + size
		_, err := usernames.String(value[:end] + dropContext(value[end:]))
		return err != nil
	})
	if n == len(places) {
		return -1
	}
	return places[n]
}

func dropContext(text string) string {
	return strings.Map(func(r rune) rune {
		if needsContext(r) {
			return -1
		}
		return r
	}, text)
}

// repair returns a value close to a refused one, which may be accepted: with "-" for spaces,
// plain characters for compatible ones ("IV" for the Roman numeral), and without the rest.
func (u Username) repair(value string) string {
	var repaired strings.Builder
	for rest := strings.ToValidUTF8(value, ""); rest != ""; {
		part := nextUsernamePart(rest)
		rest = rest[len(part):]
		repaired.WriteString(repairUsernamePart(part))
	}
	text := strings.Join(strings.FieldsFunc(repaired.String(), unicode.IsSpace), "-")
	if _, err := usernames.String(text); err != nil {
		text = dropContext(text)
	}
	if breaksBidiRule(text) {
		text = trimDirection(text)
	}
	return cutUsername(mapUsername(text), u.most(), maxUsernameBytes)
}

// repairUsernamePart keeps spaces.
func repairUsernamePart(part string) string {
	if usernamePartAllowed(part) {
		return part
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsSpace(r) && !usernamePartAllowed(string(r)) {
			return -1
		}
		return r
	}, norm.NFKC.String(part))
}

// cutUsername cuts a text to a number of characters and bytes. It does not separate a
// character from its marks.
func cutUsername(text string, characters, bytes int) string {
	end := 0
	for end < len(text) {
		part := nextUsernamePart(text[end:])
		characters -= utf8.RuneCountInString(part)
		if characters < 0 || end+len(part) > bytes {
			break
		}
		end += len(part)
	}
	return text[:end]
}
