package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"go.mau.fi/util/confusable"
	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"github.com/calldibs/dibs"
)

// Confusables maps names that look alike to one key, by the table of Unicode's technical
// standard 39, version 17: "g00gle" and "google", "paypa1" and "paypal", "rnicrosoft" and
// "microsoft", and names with letters of another script. Invisible characters and case do
// not count.
//
// Looks come before case: a capital I has the key of an l, which it looks like, and not
// that of an i. Names of a profile with lower-case letters only have no capitals, so there
// "lily" and "iiiy" are two names.
//
// Encoded labels ("xn--...") of a host name or of an email's domain are decoded first.
var Confusables dibs.Skeleton = confusables{}

type confusables struct{}

// Name has its own version after that of the table, since the standard does not cover case,
// "xn--", and a second dot above an i.
func (confusables) Name() string { return "uts39/17;2" }

func (confusables) Skeleton(canonical string) string {
	var buffer [64]byte
	key := appendSkeleton(buffer[:0], canonical)
	if string(key) == canonical {
		return canonical
	}
	return string(key)
}

// appendSkeleton appends the key of a name.
func appendSkeleton(dst []byte, name string) []byte {
	if key, ok := appendASCIISkeleton(dst, name); ok {
		return key
	}
	return append(dst, unicodeSkeleton(name)...)
}

// unicodeSkeleton is the definition. The table has the looks of upper-case and of lower-case
// letters: 0 looks like O, which becomes o, while M becomes m, which looks like rn. So it
// applies the table and the mapping to lower case in turn until nothing changes.
func unicodeSkeleton(canonical string) string {
	s := norm.NFD.String(showLabels(norm.NFD.String(canonical)))
	for range 4 { // more than any character needs today
		next := norm.NFD.String(mapLooks(s))
		if next == s {
			break
		}
		s = next
	}
	return s
}

// mapLooks replaces each character by what it looks like, in lower case. It applies the table
// first, which distinguishes upper from lower case. It drops a dot above a letter that has a
// dot, and takes a final sigma for a sigma.
func mapLooks(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	var last rune
	for _, r := range s {
		if unicode.Is(ignorable, r) || (r == '\u0307' && unicode.Is(unicode.Soft_Dotted, last)) {
			continue
		}
		last = r
		if r == 'ς' {
			r = 'σ'
		}
		looks := confusable.GetReplacement(r)
		if looks == "" {
			looks = string(r)
		}
		for _, l := range looks {
			b.WriteRune(unicode.ToLower(l))
		}
	}
	return b.String()
}

// appendASCIISkeleton is the fast path of unicodeSkeleton. It reports false for other
// characters than ASCII, and for what may be an "xn--" label.
func appendASCIISkeleton(dst []byte, name string) (key []byte, ok bool) {
	for i := range len(name) {
		c := name[i]
		if c >= utf8.RuneSelf || asciiLooks[c] == "" || c == '-' && i > 0 && name[i-1] == '-' {
			return nil, false
		}
		dst = append(dst, asciiLooks[c]...)
	}
	return dst, true
}

// asciiLooks has the key of each ASCII character, empty if the key is not ASCII.
var asciiLooks = func() (looks [utf8.RuneSelf]string) {
	for c := range looks {
		key := unicodeSkeleton(string(rune(c)))
		if isASCII(key) {
			looks[c] = key
		}
	}
	return looks
}()

// encodedPrefix begins an encoded label: the ASCII form of one in other characters.
const encodedPrefix = "xn--"

// hasEncodedPrefix reports whether a label claims to be an encoded one.
func hasEncodedPrefix(label string) bool { return hasPrefixFold(label, encodedPrefix) }

// isEncoded reports whether a label is in the form of an encoded one.
func isEncoded(label string) bool {
	return hasEncodedPrefix(label) && len(label) > len(encodedPrefix) && isASCII(label)
}

func hasEncodedLabel(domain string) bool {
	if strings.Contains(domain, "--") {
		for label := range strings.SplitSeq(domain, ".") {
			if isEncoded(label) {
				return true
			}
		}
	}
	return false
}

// showLabels returns a name as people see it: with the labels of a host name, or of an
// email's domain, decoded. Like browsers, it leaves labels that are not valid.
func showLabels(name string) string {
	local, domain := cutDomain(name)
	if !hasEncodedLabel(domain) {
		return name
	}
	labels := strings.Split(domain, ".")
	for i, label := range labels {
		labels[i] = showLabel(label)
	}
	return local + strings.Join(labels, ".")
}

func showLabel(label string) string {
	if isEncoded(label) {
		if shown, err := idna.Punycode.ToUnicode(strings.ToLower(label)); err == nil {
			return shown
		}
	}
	return label
}

// cutDomain cuts a name after its last @: the rest is a domain. Without an @ the whole name
// may be a host name.
func cutDomain(name string) (local, domain string) {
	at := strings.LastIndexByte(name, '@') + 1
	return name[:at], name[at:]
}

// ignorable are the invisible characters, Unicode's Default_Ignorable_Code_Point: the
// standard leaves them out of the comparison. Go's tables have only parts of the property,
// and change with the version of Go.
var ignorable = rangeTable(dataLines("ignorable.txt")...)
