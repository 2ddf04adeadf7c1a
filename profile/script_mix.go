package profile

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// scriptMix is the first character of a name that does not go with the earlier ones.
type scriptMix struct {
	rule    string
	problem string // without the position
	char    rune
	at      int  // the byte of the character, or of its label
	inLabel bool // the label is encoded, so the character has no byte of its own
}

// position returns where the character is, for people.
func (m *scriptMix) position() string {
	if m.inLabel {
		return fmt.Sprintf("(%q in the label at byte %d)", string(m.char), m.at)
	}
	return fmt.Sprintf("(%q at byte %d)", string(m.char), m.at)
}

// findMix finds characters of two scripts, or digits of two number systems. It checks the
// part of an email before the @ and each label of its domain separately: "пример.com" does
// not mix scripts. It does the same for a host name with an "xn--" label. It checks any other
// name as a whole.
func findMix(name string) *scriptMix {
	local, domain := cutDomain(name)
	if local == "" && !hasEncodedLabel(domain) {
		return mixIn(name)
	}
	if m := mixIn(local); m != nil {
		return m
	}
	at := len(local)
	for label := range strings.SplitSeq(domain, ".") {
		if m := mixIn(showLabel(label)); m != nil {
			if m.inLabel = isEncoded(label); m.inLabel {
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
	if isASCII(name) {
		return nil // Latin, and characters that go with every script
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

// combinations are the scripts that a language uses together: Japanese, Chinese with its
// phonetic letters, Korean.
var combinations = sync.OnceValue(func() [][]script {
	t := scripts()
	han := t.named("Han")
	return [][]script{
		{han, t.named("Hiragana"), t.named("Katakana")},
		{han, t.named("Bopomofo")},
		{han, t.named("Hangul")},
	}
})

// goTogether reports whether a language uses both scripts. With these combinations, a name
// whose scripts go together in pairs belongs to one of them.
func goTogether(a, b script) bool {
	return slices.ContainsFunc(combinations(), func(w []script) bool {
		return slices.Contains(w, a) && slices.Contains(w, b)
	})
}

// digitZero returns the zero of the number system of a decimal digit. In Unicode the ten
// digits of a system are consecutive, and systems may be adjacent.
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

// unmixed returns a mostly Latin name in Latin only: with the Latin letters that look like
// the others, and the digits 0 to 9. It returns an empty string for a name that is not
// mostly Latin.
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
