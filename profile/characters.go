package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// isASCII reports whether a text has ASCII characters only.
func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hasPrefixFold reports whether a text begins with a prefix in any case.
func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// lowerText returns a text in lower case by the full mapping of Unicode, without its special
// case for the Greek sigma at the end of a word.
func lowerText(text string) string {
	return cases.Lower(language.Und, cases.HandleFinalSigma(false)).String(text)
}

// rangeTable returns the table of ranges of characters, each first and last, in order.
func rangeTable(ranges ...[2]rune) *unicode.RangeTable {
	t := &unicode.RangeTable{}
	for _, r := range ranges {
		if r[1] > 0xFFFF {
			t.R32 = append(t.R32, unicode.Range32{Lo: uint32(r[0]), Hi: uint32(r[1]), Stride: 1})
			continue
		}
		t.R16 = append(t.R16, unicode.Range16{Lo: uint16(r[0]), Hi: uint16(r[1]), Stride: 1})
		if r[1] <= unicode.MaxLatin1 {
			t.LatinOffset++
		}
	}
	return t
}
