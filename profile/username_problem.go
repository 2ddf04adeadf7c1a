package profile

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"

	"github.com/calldibs/dibs"
)

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
func needsContext(r rune) bool {
	switch r {
	case '\u200C', '\u200D', '\u00B7', '\u0375', '\u05F3', '\u05F4', '\u30FB':
		return true
	case '\u0387', '\uFF65': // mapped to middle dots
		return true
	}
	return '\u0660' <= r && r <= '\u0669' || '\u06F0' <= r && r <= '\u06F9'
}

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

// dropContext removes the characters that need a context.
func dropContext(text string) string {
	return strings.Map(func(r rune) rune {
		if needsContext(r) {
			return -1
		}
		return r
	}, text)
}
