package profile

import (
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"github.com/calldibs/dibs"
)

// maxLabel is how many bytes DNS has for a label.
const maxLabel = 63

// Hostname is the profile for one label of a host name, such as the "acme" of
// acme.example.com: 1 to 63 letters, digits and hyphens, without hyphens at either end
// and in both the third and fourth place. Case does not matter.
//
// Labels in other scripts are those of IDNA2008, with the mapping of UTS #46 before.
// Their canonical form is the encoded one: "Bücher" becomes "xn--bcher-kva". Signs and
// emoji are no part of them.
//
// A label of digits alone is legal, and is accepted: only the last label of a name may
// not be one, and that is never what a namespace hands out.
type Hostname struct{}

var (
	_ dibs.Profile = Hostname{}
	_ dibs.Joiner  = Hostname{}
)

// Name returns "hostname/1".
func (Hostname) Name() string { return "hostname/1" }

// Canonical returns the label in lower case, encoded if need be.
func (Hostname) Canonical(value string) (string, error) {
	label, ok := encodeLabel(value)
	if ok {
		return label, nil
	}
	problem := labelProblem(value)
	problem.Try = repairLabel(value)
	return "", problem
}

// Join appends a word with a hyphen, in the script of the label. Where that is too
// long, the label is cut.
func (Hostname) Join(canonical, word string) string {
	head, tail := repairLabel(canonical), repairLabel(word)
	if head == "" || tail == "" {
		return ""
	}
	label, _ := fitLabel(head, "-"+tail)
	if label == canonical { // cut to what it was
		return ""
	}
	return label
}

// strictLabels checks all that IDNA asks of a label, except for hyphens: those it
// counts in bytes, not in characters.
var strictLabels = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(true),
	idna.ValidateLabels(true),
	idna.CheckJoiners(true),
	idna.CheckHyphens(false),
	idna.BidiRule(),
)

// capitalSharpS becomes the small one. Unicode wanted it to be "ss" up to version 15.0
// and wants this since: it shall not depend on the tables that are built in.
var capitalSharpS = strings.NewReplacer("ẞ", "ß")

// encodeLabel returns the canonical form of a label, and whether it is one.
func encodeLabel(value string) (string, bool) {
	if isPlain(value) && !isEncoded(value) {
		label := strings.ToLower(value)
		return label, isLabel(label)
	}
	label, err := strictLabels.ToASCII(capitalSharpS.Replace(value))
	if err != nil || len(label) > maxLabel {
		return "", false
	}
	if isEncoded(value) && label != strings.ToLower(value) {
		return "", false
	}
	// The rest is checked on what the encoded form stands for, which proves that it is
	// accepted too.
	shown, err := strictLabels.ToUnicode(label)
	return label, err == nil && isLabel(shown)
}

// isPlain reports whether a value is ASCII.
func isPlain(value string) bool {
	for i := range len(value) {
		if value[i] > unicode.MaxASCII {
			return false
		}
	}
	return true
}

// isEncoded reports whether a label claims to be an encoded one.
func isEncoded(label string) bool {
	return len(label) >= len("xn--") && strings.EqualFold(label[:len("xn--")], "xn--")
}

// isLabel checks a label in lower case as people read it.
func isLabel(shown string) bool {
	if shown == "" || shown[0] == '-' || shown[len(shown)-1] == '-' || hyphensInThirdAndFourth(shown) {
		return false
	}
	if isPlain(shown) && len(shown) > maxLabel {
		return false
	}
	for i, r := range shown {
		if !allowedInLabel(r) || !inPlace(shown, i, r) {
			return false
		}
	}
	return true
}

// hyphensInThirdAndFourth reports what is kept for encodings of labels.
func hyphensInThirdAndFourth(shown string) bool {
	place := 0
	for i := range shown {
		if place == 2 {
			return strings.HasPrefix(shown[i:], "--")
		}
		place++
	}
	return false
}
