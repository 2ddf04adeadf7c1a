package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	zeroWidthNonJoiner = '\u200C'
	zeroWidthJoiner    = '\u200D'
)

// allowedInLabel reports whether a label may contain a character: the letters, marks and
// digits of RFC 5892, and its exceptions. UTS #46 alone would allow symbols and emoji.
func allowedInLabel(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-'
	case unicode.Is(neverInLabel, r):
		return false
	}
	return unicode.In(r, unicode.L, unicode.Mn, unicode.Mc, unicode.Nd, signsInLabel)
}

// neverInLabel are letters and marks that RFC 5892 excludes: those that only stretch or
// repeat others (2.6), and the parts of old Hangul syllables (2.9).
var neverInLabel = rangeTable(
	[2]rune{0x0640, 0x0640}, [2]rune{0x07FA, 0x07FA}, [2]rune{0x1100, 0x11FF}, [2]rune{0x302E, 0x302F},
	[2]rune{0x3031, 0x3035}, [2]rune{0x303B, 0x303B}, [2]rune{0xA960, 0xA97F}, [2]rune{0xD7B0, 0xD7FF},
)

// signsInLabel are signs that are parts of words in some languages: the middle dot of
// Catalan, the Greek lower numeral sign, geresh and gershayim, two signs of Sindhi, the
// Tibetan tsheg, the zero of Han, the dot of Katakana, and the joiners.
var signsInLabel = rangeTable(
	[2]rune{0x00B7, 0x00B7}, [2]rune{0x0375, 0x0375}, [2]rune{0x05F3, 0x05F4}, [2]rune{0x06FD, 0x06FE},
	[2]rune{0x0F0B, 0x0F0B}, [2]rune{0x200C, 0x200D}, [2]rune{0x3007, 0x3007}, [2]rune{0x30FB, 0x30FB},
)

// inPlace checks the characters that RFC 5892, appendix A, allows only next to certain
// others, except for joiners: package idna checks these.
func inPlace(shown string, at int, r rune) bool {
	if r < utf8.RuneSelf {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(shown[:at])
	after, _ := utf8.DecodeRuneInString(shown[at+utf8.RuneLen(r):])
	switch {
	case r == 0x00B7:
		return before == 'l' && after == 'l'
	case r == 0x0375:
		return unicode.Is(unicode.Greek, after)
	case r == 0x05F3 || r == 0x05F4:
		return unicode.Is(unicode.Hebrew, before)
	case r == 0x30FB:
		return strings.IndexFunc(shown, isJapanese) >= 0
	case isArabicDigit(r):
		return strings.IndexFunc(shown, isPersianDigit) < 0
	}
	return true
}

func isJapanese(r rune) bool     { return unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Han) }
func isArabicDigit(r rune) bool  { return 0x0660 <= r && r <= 0x0669 }
func isPersianDigit(r rune) bool { return 0x06F0 <= r && r <= 0x06F9 }
