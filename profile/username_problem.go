package profile

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"

	"github.com/calldibs/dibs"
)

// usernameProblem says why RFC 8265 does not allow a text, and where. The library only
// tells that it does not.
func usernameProblem(value string) *dibs.Refusal {
	if !utf8.ValidString(value) {
		return refuse("utf8", whole, "", "is not valid UTF-8")
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
		return refuse("misplaced_character", at, "", "has %q (%U) between characters where it does not belong", r, r)
	}
	return refuse("too_many_marks", whole, "", "has more marks on a character than text can have")
}

// usernameCharacterProblem tells about a part of the value that holds a character which is not
// allowed.
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
		return refuse("space", at, "", "has a space (%U)", r)
	case unicode.IsSymbol(r):
		return refuse("symbol", at, "", "has the symbol %q (%U), which a username cannot have", r, r)
	}
	return refuse("character", at, "", "has the character %q (%U), which a username cannot have", r, r)
}

// nextUsernamePart returns the beginning of the text that normalizes independently of what
// follows: a character with its marks.
func nextUsernamePart(text string) string {
	if n := norm.NFC.NextBoundaryInString(text, true); n > 0 {
		return text[:n]
	}
	return text
}

// usernamePartAllowed reports whether a part becomes nothing but characters that RFC 8265
// allows, somewhere at least.
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

// mapUsername is what RFC 8265 makes of a text before it checks it.
func mapUsername(text string) string {
	return norm.NFC.String(lowerText(width.Fold.String(text)))
}

// lowerText is the full mapping of Unicode, without the special case of the Greek sigma
// at the end of a word.
func lowerText(text string) string {
	return cases.Lower(language.Und, cases.HandleFinalSigma(false)).String(text)
}

// needsContext reports whether a character is allowed in some places only, by the rules
// of RFC 5892, appendix A: joiners, middle dots, marks of Greek and Hebrew, and the two
// kinds of Arabic digits, which do not mix.
func needsContext(r rune) bool {
	switch r {
	case '\u200C', '\u200D', '\u00B7', '\u0375', '\u05F3', '\u05F4', '\u30FB':
		return true
	case '\u0387', '\uFF65': // which become middle dots
		return true
	}
	return '\u0660' <= r && r <= '\u0669' || '\u06F0' <= r && r <= '\u06F9'
}

// misplaced returns where a character is that its neighbours do not allow, or -1. The
// text with the first n such characters and without the others is fine for n = 0, and is
// not for all of them. In between, where it stops to be, is the one at fault.
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

// dropContext drops the characters that need a context.
func dropContext(text string) string {
	return strings.Map(func(r rune) rune {
		if needsContext(r) {
			return -1
		}
		return r
	}, text)
}
