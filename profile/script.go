package profile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"

	"github.com/calldibs/dibs"
)

// OneScript returns the profile p without names that mix scripts, such as "pаypal" with
// one Cyrillic letter. It refuses them as "mixed_scripts", by the single-script rules of
// Unicode's technical standard 39:
//
//   - Japanese may mix Han, Hiragana and Katakana, Chinese Han and Bopomofo, Korean
//     Hangul and Han.
//   - Characters without a script go with each: the digits 0 to 9, hyphens, accents, emoji.
//     It refuses digits of two number systems as "mixed_digits".
//   - It checks the part of an email before the @, and each label of a host name,
//     separately, and decodes "xn--..." before.
//
// A name with letters of one other script passes, though it may look like a Latin one:
// [Confusables] prevent that. The rules of p come first. Nil means [dibs.Exact].
func OneScript(p dibs.Profile) dibs.Profile {
	if p == nil {
		p = dibs.Exact
	}
	switch p.(type) {
	case oneScript, oneScriptJoiner:
		return p
	}
	if _, ok := p.(dibs.Joiner); ok {
		return oneScriptJoiner{oneScript{p}}
	}
	return oneScript{p}
}

type oneScript struct{ inner dibs.Profile }

func (o oneScript) Name() string { return o.inner.Name() + ";onescript" }

func (o oneScript) Canonical(value string) (string, error) {
	canonical, err := o.inner.Canonical(value)
	if err != nil {
		return "", o.checkTry(err)
	}
	mix := findMix(canonical)
	if mix == nil {
		return canonical, nil
	}
	at, problem := whole, mix.problem
	// The position is one in the value, which may differ from that in the canonical form.
	if inValue := findMix(value); inValue != nil && inValue.problem == problem {
		at, problem = inValue.at, problem+" "+inValue.position()
	}
	return "", &dibs.Refusal{Rule: mix.rule, Problem: problem, At: at, Try: o.try(canonical)}
}

// try returns an acceptable value for a name that mixes scripts, or an empty string.
func (o oneScript) try(canonical string) string {
	const most = 1024 // bytes of a value; a letter may look like several
	try := unmixed(canonical)
	if len(try) > most || strings.ContainsFunc(try, unicode.IsControl) || !o.accepts(try) {
		return ""
	}
	return try
}

// checkTry removes Try from a refusal of the inner profile if that mixes scripts.
func (o oneScript) checkTry(err error) error {
	refusal, ok := errors.AsType[*dibs.Refusal](err)
	if !ok || refusal.Try == "" || o.accepts(refusal.Try) {
		return err
	}
	own := *refusal
	own.Try = ""
	return &own
}

func (o oneScript) accepts(value string) bool {
	if value == "" {
		return false
	}
	canonical, err := o.inner.Canonical(value)
	return err == nil && findMix(canonical) == nil
}

// oneScriptJoiner is oneScript of a [dibs.Joiner].
type oneScriptJoiner struct{ oneScript }

func (o oneScriptJoiner) Join(canonical, word string) string {
	joined := o.inner.(dibs.Joiner).Join(canonical, word)
	if !o.accepts(joined) {
		return ""
	}
	return joined
}

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
	var seen []string
	var zero rune // of the number system, once there is a digit
	for at, r := range name {
		s := scriptOf(r)
		if s != anyScript && !slices.Contains(seen, s) {
			if i := slices.IndexFunc(seen, func(other string) bool { return !goTogether(other, s) }); i >= 0 {
				problem := fmt.Sprintf("mixes %s and %s", seen[i], s)
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
var combinations = [][]string{{"Han", "Hiragana", "Katakana"}, {"Han", "Bopomofo"}, {"Han", "Hangul"}}

// goTogether reports whether a language uses both scripts. With these combinations, a name
// whose scripts go together in pairs belongs to one of them.
func goTogether(a, b string) bool {
	return slices.ContainsFunc(combinations, func(w []string) bool {
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
	var b strings.Builder
	own, others := 0, 0
	for _, r := range norm.NFC.String(showLabels(name)) {
		zero, digit := digitZero(r)
		switch s := scriptOf(r); {
		case digit:
			b.WriteRune('0' + r - zero)
		case s == "Latin":
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

const (
	anyScript     = "any"               // for characters that go with every script: digits, hyphens, accents
	unknownScript = "an unknown script" // for characters that this version of Unicode does not have
)

// scriptRange is a range of characters of one script.
type scriptRange struct {
	first, last rune
	script      string
}

// scriptRanges has all of Go's tables in one, sorted, to find the script of a character in
// one search.
var scriptRanges = sync.OnceValue(func() (ranges []scriptRange) {
	for script, table := range unicode.Scripts {
		script = strings.ReplaceAll(script, "_", " ")
		if script == "Common" || script == "Inherited" {
			script = anyScript
		}
		rangetable.Visit(table, func(r rune) {
			if end := len(ranges) - 1; end >= 0 && ranges[end].last == r-1 && ranges[end].script == script {
				ranges[end].last = r
			} else {
				ranges = append(ranges, scriptRange{r, r, script})
			}
		})
	}
	slices.SortFunc(ranges, func(a, b scriptRange) int { return cmp.Compare(a.first, b.first) })
	return ranges
})

func scriptOf(r rune) string {
	ranges := scriptRanges()
	i, found := slices.BinarySearchFunc(ranges, r, func(in scriptRange, r rune) int {
		if in.last < r {
			return -1
		}
		return max(cmp.Compare(in.first, r), 0)
	})
	if !found {
		return unknownScript
	}
	return ranges[i].script
}
