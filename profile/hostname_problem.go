package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/calldibs/dibs"
)

// labelProblem returns why encodeLabel refuses a value: a character, or its position, or the
// label as a whole.
func labelProblem(value string) *dibs.Refusal {
	for at, r := range value {
		switch shown, ok := mapRune(r); {
		case strings.Contains(shown, "."):
			return refuse("more_than_one_label", at, "is more than one label")
		case !ok:
			return refuse("character_not_allowed", at, "has a character that is not allowed at byte %d", at)
		}
	}
	shown, err := looseLabels.ToUnicode(capitalSharpS.Replace(value))
	switch {
	case hasEncodedPrefix(value):
		return refuse("bad_encoding", 0, "starts with xn-- but is not an encoded label")
	case shown == "":
		return refuse("empty", whole, "has no character that counts")
	}
	if problem := hyphenProblem(value, shown); problem != nil {
		return problem
	}
	if problem := placeProblem(value, shown); problem != nil {
		return problem
	}
	label, _ := looseLabels.ToASCII(capitalSharpS.Replace(value))
	if err == nil && len(label) > maxLabel {
		return refuse("too_long", whole, "has %d bytes as a label of a host name, more than the %d allowed", len(label), maxLabel)
	}
	return refuse("not_a_label", whole, "is not a label of a host name")
}

// mapRune returns what a character becomes in a label, and whether a label may contain it. It
// puts a letter before the character, which may be a mark.
func mapRune(r rune) (string, bool) {
	if r < utf8.RuneSelf {
		r = unicode.ToLower(r)
		return string(r), allowedInLabel(r)
	}
	shown, err := looseLabels.ToUnicode("a" + string(r))
	shown = strings.TrimPrefix(shown, "a")
	return shown, err == nil && strings.IndexFunc(shown, func(r rune) bool { return !allowedInLabel(r) }) < 0
}

func hyphenProblem(value, shown string) *dibs.Refusal {
	switch {
	case shown[0] == '-':
		return refuse("hyphen_at_start", 0, "starts with a hyphen")
	case shown[len(shown)-1] == '-':
		_, size := utf8.DecodeLastRuneInString(value)
		return refuse("hyphen_at_end", len(value)-size, "ends with a hyphen")
	case hyphensInThirdAndFourth(shown):
		return refuse("hyphens_in_third_and_fourth_place", strings.Index(value, "--"), "has hyphens in the third and fourth place")
	}
	return nil
}

// placeProblem returns what is wrong with the order of the characters, or nil.
func placeProblem(value, shown string) *dibs.Refusal {
	const rule, problem = "character_out_of_place", "has a character that is not allowed in its position"
	if first, _ := utf8.DecodeRuneInString(shown); unicode.IsMark(first) {
		return refuse("mark_at_start", 0, "starts with a mark that belongs on a letter")
	}
	for i, r := range shown {
		if !inPlace(shown, i, r) { // mapped from the value, perhaps from another character
			return refuse(rule, strings.IndexRune(value, r), problem)
		}
	}
	if !accepts(strictLabels, shown) && accepts(strictLabels, strings.Map(dropJoiner, shown)) {
		at := strings.IndexFunc(value, func(r rune) bool { return dropJoiner(r) < 0 })
		return refuse(rule, at, problem)
	}
	if !accepts(strictLabels, shown) && accepts(looseLabels, shown) {
		return refuse("mixed_direction", whole, "mixes writing directions")
	}
	return nil
}

// accepts reports whether IDNA accepts a text with these rules.
func accepts(labels *idna.Profile, shown string) bool {
	_, err := labels.ToASCII(shown)
	return err == nil
}

// dropJoiner removes the joiners in [strings.Map].
func dropJoiner(r rune) rune {
	if r == zeroWidthJoiner || r == zeroWidthNonJoiner {
		return -1
	}
	return r
}
