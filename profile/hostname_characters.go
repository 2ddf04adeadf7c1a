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

// allowedInLabel reports whether a character can be in a label at all: the letters,
// marks and digits of RFC 5892, and its exceptions. UTS #46 alone would let signs and
// emoji through.
func allowedInLabel(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-'
	case unicode.Is(neverInLabel, r):
		return false
	}
	return unicode.In(r, unicode.L, unicode.Mn, unicode.Mc, unicode.Nd, signsInLabel)
}

// neverInLabel are letters and marks that RFC 5892 leaves out: those that only stretch
// or repeat others (2.6), and the parts of old Hangul syllables (2.9).
var neverInLabel = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x0640, Hi: 0x0640, Stride: 1},
	{Lo: 0x07FA, Hi: 0x07FA, Stride: 1},
	{Lo: 0x1100, Hi: 0x11FF, Stride: 1},
	{Lo: 0x302E, Hi: 0x302F, Stride: 1},
	{Lo: 0x3031, Hi: 0x3035, Stride: 1},
	{Lo: 0x303B, Hi: 0x303B, Stride: 1},
	{Lo: 0xA960, Hi: 0xA97F, Stride: 1},
	{Lo: 0xD7B0, Hi: 0xD7FF, Stride: 1},
}}

// signsInLabel are the signs that words of some languages are written with: the middle
// dot of Catalan, the Greek lower numeral sign, geresh and gershayim, two signs of
// Sindhi, the Tibetan tsheg, the zero of Han, the dot of Katakana, and the joiners.
var signsInLabel = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x00B7, Hi: 0x00B7, Stride: 1},
	{Lo: 0x0375, Hi: 0x0375, Stride: 1},
	{Lo: 0x05F3, Hi: 0x05F4, Stride: 1},
	{Lo: 0x06FD, Hi: 0x06FE, Stride: 1},
	{Lo: 0x0F0B, Hi: 0x0F0B, Stride: 1},
	{Lo: 0x200C, Hi: 0x200D, Stride: 1},
	{Lo: 0x3007, Hi: 0x3007, Stride: 1},
	{Lo: 0x30FB, Hi: 0x30FB, Stride: 1},
}, LatinOffset: 1}

// inPlace checks the characters that RFC 5892, appendix A, allows only beside others.
// Joiners are not among them: package idna knows their rules.
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
