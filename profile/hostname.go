package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/calldibs/dibs"
)

// maxLabel is the maximum of bytes of a label in DNS.
const maxLabel = 63

// Hostname is the profile for one label of a host name, such as the "acme" of
// acme.example.com: 1 to 63 letters, digits and hyphens, without hyphens at either end or in
// both the third and fourth place. Case does not count.
//
// Labels in other scripts follow IDNA2008, after the mapping of UTS #46. Their canonical form
// is the encoded one: "Bücher" becomes "xn--bcher-kva". Symbols and emoji are not allowed.
//
// A label may consist of digits only. DNS forbids that for the last label of a name only.
type Hostname struct{}

var (
	_ dibs.Profile = Hostname{}
	_ dibs.Joiner  = Hostname{}
)

// Name returns "hostname/1".
func (Hostname) Name() string { return "hostname/1" }

// Canonical returns the label in lower case, encoded if it is not ASCII. Its errors are
// [*dibs.Refusal].
func (Hostname) Canonical(value string) (string, error) {
	label, _, ok := encodeLabel(value)
	if ok {
		return label, nil
	}
	problem := labelProblem(value)
	problem.Try = repairLabel(value)
	return "", problem
}

// Join appends a word with a hyphen, in the script of the label. If the result is too long,
// it cuts the label.
func (Hostname) Join(canonical, word string) string {
	head, tail := repairLabel(canonical), repairLabel(word)
	if head == "" || tail == "" {
		return ""
	}
	label, _ := fitLabel(head, "-"+tail)
	if label == canonical { // cut to the same label
		return ""
	}
	return label
}

var (
	// strictLabels checks all requirements of IDNA except for hyphens.
	strictLabels = newLabels(idna.CheckJoiners(true), idna.BidiRule())
	// looseLabels checks each character but not their order.
	looseLabels = newLabels(idna.CheckJoiners(false))
)

// newLabels returns a mapping of labels. It does not check hyphens: package idna would count
// their positions in bytes instead of characters.
func newLabels(options ...idna.Option) *idna.Profile {
	return idna.New(append([]idna.Option{
		idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(true), idna.ValidateLabels(true), idna.CheckHyphens(false),
	}, options...)...)
}

// capitalSharpS replaces ẞ by ß. Unicode maps it to "ss" up to version 15.0 and to ß later:
// the canonical form must not depend on the version of the tables.
var capitalSharpS = strings.NewReplacer("ẞ", "ß")

// encodeLabel returns the canonical form of a label, its decoded form, and whether it is one.
func encodeLabel(value string) (label, shown string, ok bool) {
	if isASCII(value) && !hasEncodedPrefix(value) {
		label = strings.ToLower(value)
		return label, label, isLabel(label)
	}
	label, err := strictLabels.ToASCII(capitalSharpS.Replace(value))
	if err != nil || len(label) > maxLabel || hasEncodedPrefix(value) && label != strings.ToLower(value) {
		return "", "", false
	}
	// The remaining rules apply to the decoded form. Decoding also proves that the encoded
	// form is accepted.
	shown, err = strictLabels.ToUnicode(label)
	return label, shown, err == nil && isLabel(shown)
}

// isLabel checks a decoded label in lower case.
func isLabel(shown string) bool {
	if shown == "" || shown[0] == '-' || shown[len(shown)-1] == '-' || hyphensInThirdAndFourth(shown) {
		return false
	}
	if isASCII(shown) && len(shown) > maxLabel {
		return false
	}
	for i, r := range shown {
		if !allowedInLabel(r) || !inPlace(shown, i, r) {
			return false
		}
	}
	return true
}

// hyphensInThirdAndFourth reports whether a label looks like an encoded one of any kind.
func hyphensInThirdAndFourth(shown string) bool {
	return strings.HasPrefix(shown[len(firstRunes(shown, 2)):], "--")
}

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
var neverInLabel = rangeTable("0640", "07FA", "1100-11FF", "302E-302F", "3031-3035", "303B", "A960-A97F", "D7B0-D7FF")

// signsInLabel are signs that are parts of words in some languages: the middle dot of
// Catalan, the Greek lower numeral sign, geresh and gershayim, two signs of Sindhi, the
// Tibetan tsheg, the zero of Han, the dot of Katakana, and the joiners.
var signsInLabel = rangeTable("00B7", "0375", "05F3-05F4", "06FD-06FE", "0F0B", "200C-200D", "3007", "30FB")

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
		return strings.ContainsFunc(shown, isJapanese)
	case isArabicDigit(r):
		return !strings.ContainsFunc(shown, isPersianDigit)
	}
	return true
}

func isJapanese(r rune) bool     { return unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Han) }
func isArabicDigit(r rune) bool  { return 0x0660 <= r && r <= 0x0669 }
func isPersianDigit(r rune) bool { return 0x06F0 <= r && r <= 0x06F9 }

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
	return shown, err == nil && !strings.ContainsFunc(shown, func(r rune) bool { return !allowedInLabel(r) })
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

// dropJoiner removes the two joiners in [strings.Map].
func dropJoiner(r rune) rune {
	if r == '\u200C' || r == '\u200D' {
		return -1
	}
	return r
}

// repairLabel returns the decoded label that a value probably means, or an empty string. The
// profile accepts it.
func repairLabel(value string) string {
	if _, shown, ok := encodeLabel(value); ok {
		return shown
	}
	if hasEncodedPrefix(value) {
		if shown, err := idna.Punycode.ToUnicode(strings.ToLower(value)); err == nil {
			value = shown
		}
	}
	text := trimLabel(replaceInLabel(value))
	if label, shown := fitLabel(text, ""); label != "" {
		return shown
	}
	_, shown := fitLabel(strings.Map(dropJoiner, text), "")
	return shown
}

// replaceInLabel replaces runs of characters that are not allowed by one hyphen. It drops
// apostrophes.
func replaceInLabel(value string) string {
	var b strings.Builder
	hyphen := false
	for _, r := range value {
		if r == '\'' || r == '’' {
			continue
		}
		if _, ok := mapRune(r); !ok || r == '-' {
			hyphen = true
			continue
		}
		if hyphen {
			b.WriteByte('-')
			hyphen = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// trimLabel removes what a label cannot start with. replaceInLabel leaves no hyphen at the
// end.
func trimLabel(text string) string {
	return strings.TrimLeftFunc(text, func(r rune) bool {
		return r == '-' || unicode.IsMark(r) || dropJoiner(r) < 0
	})
}

// fitLabel cuts the head until there is room for the tail. It returns the encoded and the
// decoded label. It returns nothing if the label is short enough and still invalid: cutting
// would not help.
func fitLabel(head, tail string) (label, shown string) {
	rest := firstRunes(head, maxLabel)
	for rest != "" {
		if label, shown, ok := encodeLabel(rest + tail); ok {
			return label, shown
		}
		label, _ := looseLabels.ToASCII(rest + tail)
		if len(rest) == len(head) && len(label) <= maxLabel {
			return "", ""
		}
		_, size := utf8.DecodeLastRuneInString(rest)
		rest = strings.TrimRight(rest[:len(rest)-size], "-")
	}
	return "", ""
}

// firstRunes returns the first n characters of a text. Each needs a byte of a label at least.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
