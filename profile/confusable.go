package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"go.mau.fi/util/confusable"
	"golang.org/x/text/unicode/norm"

	"github.com/calldibs/dibs"
)

// Confusables maps names that look alike to one key, by the table of Unicode's
// technical standard 39, version 17: "g00gle" and "google", "paypa1" and "paypal",
// "rnicrosoft" and "microsoft", and what is written with letters of another script.
// What cannot be seen is left out, and so is the case of letters.
//
// Looks come before case: a capital I has the key of an l, which it looks like, and
// not that of an i. A name of a profile that makes letters small has no capitals, so
// there "lily" and "iiiy" are two names, as anybody can see.
//
// Labels of a host name or of an email's domain that are in the ASCII form of an
// international name ("xn--...") are compared by what they show.
var Confusables dibs.Skeleton = confusables{}

type confusables struct{}

// Name has a version of its own behind that of the table: the standard knows neither
// the case of letters nor "xn--", nor the dot that an i has already.
func (confusables) Name() string { return "uts39/17;2" }

func (confusables) Skeleton(canonical string) string {
	var room [64]byte
	key := appendSkeleton(room[:0], canonical)
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

// mostRounds is more than any character needs. It is there for tables of the future.
const mostRounds = 4

// unicodeSkeleton is the definition. The table knows the look of capitals and of small
// letters: 0 looks like a capital O, which as a small letter is one more o, while M is
// m and that looks like rn. So table and case take turns until nothing changes.
func unicodeSkeleton(canonical string) string {
	s := norm.NFD.String(showLabels(norm.NFD.String(canonical)))
	for range mostRounds {
		next := norm.NFD.String(mapLooks(s))
		if next == s {
			break
		}
		s = next
	}
	return s
}

const (
	dotAbove   = '\u0307'
	finalSigma = 'ς'
)

// mapLooks replaces each character by what it looks like, in small letters. The table
// comes first: what it says of a capital is about the capital. A dot above a letter that
// has one is not seen; a sigma at the end of a word is one all the same.
func mapLooks(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	var last rune
	for _, r := range s {
		if unicode.Is(ignorable, r) || (r == dotAbove && unicode.Is(unicode.Soft_Dotted, last)) {
			continue
		}
		last = r
		if r == finalSigma {
			r = 'σ'
		}
		looks := confusable.GetReplacement(r)
		if looks == "" {
			b.WriteRune(unicode.ToLower(r))
			continue
		}
		for _, l := range looks {
			b.WriteRune(unicode.ToLower(l))
		}
	}
	return b.String()
}

// appendASCIISkeleton is unicodeSkeleton for what most names are. It leaves alone what
// it cannot do: other characters, and what may be an "xn--" label.
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

// asciiLooks is the key of each ASCII character, empty where that is not ASCII itself.
var asciiLooks = func() (looks [utf8.RuneSelf]string) {
	for c := range looks {
		key := unicodeSkeleton(string(rune(c)))
		if onlyASCII(key) {
			looks[c] = key
		}
	}
	return looks
}()
