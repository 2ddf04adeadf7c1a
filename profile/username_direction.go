package profile

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/secure/bidirule"
	"golang.org/x/text/unicode/bidi"

	"github.com/calldibs/dibs"
)

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
