package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/calldibs/dibs"
)

// canonicalMailLocal returns a local part in Normalization Form C, and in lower case unless
// case counts. It reports false for one that is invalid without quotes.
func canonicalMailLocal(local string, caseSensitive bool) (string, bool) {
	for range 4 { // until nothing changes: the lower case of a letter may have another one
		canonical := norm.NFC.String(local)
		if !caseSensitive {
			canonical = norm.NFC.String(lowerText(canonical))
		}
		if canonical == local {
			return canonical, isDotAtom(canonical)
		}
		local = canonical
	}
	return "", false
}

// isDotAtom reports whether a text consists of words with single dots in between.
func isDotAtom(text string) bool {
	afterDot := true
	for _, r := range text {
		if r == '.' && afterDot || r != '.' && !isAtomText(r) {
			return false
		}
		afterDot = r == '.'
	}
	return !afterDot
}

// isAtomText reports whether a word of a local part may contain the character: RFC 5322's
// atext, and every visible character beyond ASCII.
func isAtomText(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	case r < utf8.RuneSelf:
		return r > 0 && strings.IndexByte("!#$%&'*+-/=?^_`{|}~", byte(r)) >= 0
	}
	return r != utf8.RuneError && unicode.IsGraphic(r) && !unicode.In(r, invisible...)
}

// invisible are characters that count as graphic but show nothing, including the Braille
// pattern without dots.
var invisible = []*unicode.RangeTable{
	unicode.White_Space, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point,
	rangeTable([2]rune{0x2800, 0x2800}),
}

// staysAtomText is isAtomText after normalization, which turns the Greek question mark into
// a semicolon.
func staysAtomText(r rune) bool {
	for _, normal := range norm.NFC.String(string(r)) {
		if !isAtomText(normal) {
			return false
		}
	}
	return true
}

// mailLocalProblem returns why canonicalMailLocal refuses a local part.
func mailLocalProblem(parts emailParts) *dibs.Refusal {
	if parts.quoted {
		return refuse("quoted_local", 0, "has a quoted part that is not valid without its quotes")
	}
	local := parts.local
	for i, r := range local {
		switch {
		case r == ',':
			return refuse("comma", i, "has a comma")
		case r == '.' && i == 0:
			return refuse("dot_at_start", i, "begins with a dot")
		case r == '.' && i == len(local)-1:
			return refuse("dot_at_end", i, "has a dot right before the @")
		case r == '.' && local[i+1] == '.':
			return refuse("double_dot", i+1, "has two dots in a row")
		case r != '.' && !staysAtomText(r):
			return refuse("character", i, "has the character %q (%U), which an address cannot have", r, r)
		}
	}
	return refuse("character", 0, "has characters before the @ that an address cannot have")
}
