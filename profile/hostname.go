package profile

import (
	"strings"

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
	label, ok := encodeLabel(value)
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

// encodeLabel returns the canonical form of a label, and whether it is one.
func encodeLabel(value string) (string, bool) {
	if isASCII(value) && !hasEncodedPrefix(value) {
		label := strings.ToLower(value)
		return label, isLabel(label)
	}
	label, err := strictLabels.ToASCII(capitalSharpS.Replace(value))
	if err != nil || len(label) > maxLabel {
		return "", false
	}
	if hasEncodedPrefix(value) && label != strings.ToLower(value) {
		return "", false
	}
	// The remaining rules apply to the decoded form. Decoding also proves that the encoded
	// form is accepted.
	shown, err := strictLabels.ToUnicode(label)
	return label, err == nil && isLabel(shown)
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
