package profile

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// scriptMix is the first character of a name that does not go with those before it.
type scriptMix struct {
	rule    string
	problem string // without the place
	char    rune
	at      int  // the byte of the character, or of its label
	inLabel bool // the character is in a label whose ASCII form does not show it
}

// place says where the character is, to a person.
func (m *scriptMix) place() string {
	if m.inLabel {
		return fmt.Sprintf("(%q in the label at byte %d)", string(m.char), m.at)
	}
	return fmt.Sprintf("(%q at byte %d)", string(m.char), m.at)
}

// findMix looks for characters of two scripts, or digits of two number systems. What
// comes before the @ of an email and each label of its domain are names of their own:
// "пример.com" mixes nothing. So are the labels of a host name, which shows by an
// "xn--" that it is one. Anything else is one name.
func findMix(name string) *scriptMix {
	local, domain := cutDomain(name)
	if local == "" && !hasASCIIForm(domain) {
		return mixIn(name)
	}
	if m := mixIn(local); m != nil {
		return m
	}
	at := len(local)
	for label := range strings.SplitSeq(domain, ".") {
		if m := mixIn(showLabel(label)); m != nil {
			if m.inLabel = isASCIIForm(label); m.inLabel {
				m.at = 0
			}
			m.at += at
			return m
		}
		at += len(label) + len(".")
	}
	return nil
}

// mixIn is findMix for one name or label.
func mixIn(name string) *scriptMix {
	if onlyASCII(name) {
		return nil // Latin, and what goes with everything
	}
	table := scripts()
	var seen []script
	var zero rune // of the number system, once there is a digit
	for at, r := range name {
		s := table.of(r)
		if s != anyScript && !slices.Contains(seen, s) {
			if i := slices.IndexFunc(seen, func(other script) bool { return !goTogether(other, s) }); i >= 0 {
				problem := fmt.Sprintf("mixes %s and %s", table.names[seen[i]], table.names[s])
				return &scriptMix{rule: "mixed_scripts", problem: problem, char: r, at: at}
			}
			seen = append(seen, s)
		}
		if z, ok := digitZero(r); ok {
			if zero != 0 && z != zero {
				return &scriptMix{rule: "mixed_digits", problem: "mixes digits of two number systems", char: r, at: at}
			}
			zero = z
		}
	}
	return nil
}

// writings are the scripts that some languages are written in together: Japanese,
// Chinese with its phonetic letters, Korean.
var writings = sync.OnceValue(func() [][]script {
	t := scripts()
	han := t.named("Han")
	return [][]script{
		{han, t.named("Hiragana"), t.named("Katakana")},
		{han, t.named("Bopomofo")},
		{han, t.named("Hangul")},
	}
})

// goTogether reports whether some language has both scripts. Of all that are in a name
// each pair does, and with these writings that means all of them together.
func goTogether(a, b script) bool {
	return slices.ContainsFunc(writings(), func(w []script) bool {
		return slices.Contains(w, a) && slices.Contains(w, b)
	})
}

// digitZero returns the zero of the number system to which a decimal digit belongs.
// Unicode has the digits of each in a row, and such rows at most next to each other.
func digitZero(r rune) (zero rune, ok bool) {
	if r >= '0' && r <= '9' {
		return '0', true
	}
	if !unicode.IsDigit(r) {
		return 0, false
	}
	first := r
	for unicode.IsDigit(first - 1) {
		first--
	}
	return r - (r-first)%10, true
}

// unmixed writes a name that is mostly Latin in Latin alone: by the letters that look
// like the others, and with the digits 0 to 9. It is empty for a name of which Latin
// is not the most: there the Latin letters are the odd ones.
func unmixed(name string) string {
	table := scripts()
	latin := table.named("Latin")
	var b strings.Builder
	own, others := 0, 0
	for _, r := range norm.NFC.String(showLabels(name)) {
		zero, digit := digitZero(r)
		switch s := table.of(r); {
		case digit:
			b.WriteRune('0' + r - zero)
		case s == latin:
			own++
			b.WriteRune(r)
		case s == anyScript:
			b.WriteRune(r)
		default:
			others++
			b.WriteString(unicodeSkeleton(string(r)))
		}
	}
	if others >= own {
		return ""
	}
	return norm.NFC.String(b.String())
}
