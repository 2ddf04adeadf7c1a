package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/calldibs/dibs"
)

// canonicalMailLocal returns a local part in Normalization Form C, and in lower case unless
// case counts. It reports false for what cannot be one without quotes.
func canonicalMailLocal(local string, caseSensitive bool) (string, bool) {
	for range 4 { // until nothing changes: letters may change their case into other letters
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

// isDotAtom reports whether a text is words with single dots in between.
func isDotAtom(text string) bool {
	afterDot := true
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case r == '.' && afterDot:
			return false
		case r != '.' && !isAtomText(r):
			return false
		}
		afterDot = r == '.'
		i += size
	}
	return !afterDot
}

// isAtomText reports whether a word of a local part may have the character: those that
// RFC 5322 calls atext, and beyond ASCII all that can be seen.
func isAtomText(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	case r < utf8.RuneSelf:
		return r > 0 && strings.IndexByte("!#$%&'*+-/=?^_`{|}~", byte(r)) >= 0
	}
	return r != utf8.RuneError && unicode.IsGraphic(r) && !unicode.In(r, unseen...)
}

// unseen are characters that count as graphic, and yet show nothing: among them the
// Braille pattern without a dot.
var unseen = []*unicode.RangeTable{
	unicode.White_Space, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}},
}

// staysAtomText is isAtomText for a character that may become another: the Greek
// question mark is a semicolon.
func staysAtomText(r rune) bool {
	for _, normal := range norm.NFC.String(string(r)) {
		if !isAtomText(normal) {
			return false
		}
	}
	return true
}

// mailLocalProblem says why canonicalMailLocal does not take a local part.
func mailLocalProblem(parts emailParts) *dibs.Refusal {
	if parts.quoted {
		return refuse("quoted_local", 0, "", "has a part in quotes that cannot be without them")
	}
	local := parts.local
	for i, r := range local {
		switch {
		case r == ',':
			return refuse("comma", i, "", "has a comma")
		case r == '.' && i == 0:
			return refuse("dot_at_start", i, "", "begins with a dot")
		case r == '.' && i == len(local)-1:
			return refuse("dot_at_end", i, "", "has a dot right before the @")
		case r == '.' && local[i+1] == '.':
			return refuse("double_dot", i+1, "", "has two dots in a row")
		case r != '.' && !staysAtomText(r):
			return refuse("character", i, "", "has the character %q (%U), which an address cannot have", r, r)
		}
	}
	return refuse("character", 0, "", "has characters before the @ that an address cannot have")
}
