package profile

import (
	"bytes"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// slugOf returns the slug of any text, cut to the limit, or nothing.
func slugOf(text string, limit int) string {
	var b slugBuilder
	b.limit = limit
	if !b.addPlain(text) {
		b = slugBuilder{limit: limit}
		b.addAny(text)
	}
	return b.String()
}

// slugBuilder puts words together. It keeps one byte more than the limit, which is
// what it takes to see whether a word ends there, and has no use for the rest.
type slugBuilder struct {
	text  [maxSlugLength + 1]byte
	size  int
	limit int
	apart bool // the next letter begins a word
}

func (b *slugBuilder) full() bool { return b.size > b.limit }

// add appends a letter or digit in lower case, behind a hyphen if it begins a word.
func (b *slugBuilder) add(c byte) {
	if b.apart && b.size > 0 && !b.full() {
		b.text[b.size] = '-'
		b.size++
	}
	b.apart = false
	if !b.full() {
		b.text[b.size] = c
		b.size++
	}
}

// addPlain appends ASCII, and reports false at anything else.
func (b *slugBuilder) addPlain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			b.add(c)
		case 'A' <= c && c <= 'Z':
			b.add(c + 'a' - 'A')
		case c > unicode.MaxASCII:
			return false
		case c != '\'':
			b.apart = true
		}
	}
	return true
}

// beforeCompatibility keeps it from what it does badly: trade marks are no letters, and
// the "am" of Thai and Lao would come out as "maa".
var beforeCompatibility = strings.NewReplacer("™", " ", "℠", " ", "ำ", "am", "ຳ", "am")

// addAny appends text in any script. Compatibility comes first: it makes plain letters
// of styled ones, which no table of letters has.
func (b *slugBuilder) addAny(text string) {
	var last rune
	for _, r := range norm.NFKC.String(beforeCompatibility.Replace(text)) {
		if r == sameAgain && unicode.Is(unicode.Han, last) {
			r = last
		}
		last = r
		b.addRune(r)
		if b.full() {
			return
		}
	}
}

// sameAgain stands for the Han character before it.
const sameAgain = '々'

func (b *slugBuilder) addRune(r rune) {
	switch {
	case joinsWords(r):
	case !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Number):
		b.apart = true
	case unicode.Is(unicode.Han, r): // each is a word
		b.apart = true
		b.addSpelled(r)
		b.apart = true
	default:
		b.addSpelled(r)
	}
}

// addSpelled appends what a letter is in a to z. Signs in there, such as those for the
// soft sign or a glottal stop, are no ends of words.
func (b *slugBuilder) addSpelled(r rune) {
	for _, c := range []byte(spell(r)) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			b.add(c)
		case 'A' <= c && c <= 'Z':
			b.add(c + 'a' - 'A')
		}
	}
}

// String returns the slug. Too long a one is cut at the end of a word, and within the
// word if that is the first.
func (b *slugBuilder) String() string {
	if !b.full() {
		return string(b.text[:b.size])
	}
	if end := bytes.LastIndexByte(b.text[:b.size], '-'); end > 0 {
		return string(b.text[:end])
	}
	return string(b.text[:b.limit])
}

// joinsWords reports whether a character stands within a word without being a letter:
// apostrophes, and what is invisible.
func joinsWords(r rune) bool {
	const zeroWidthSpace = '\u200B' // separates words of Thai and Khmer
	switch r {
	case '\'', '’', '‘', '׳', '״':
		return true
	}
	return r != zeroWidthSpace && unicode.Is(unicode.Cf, r)
}

// hasLetter reports whether there is a letter or digit in any script.
func hasLetter(text string) bool {
	return strings.IndexFunc(norm.NFKC.String(text), func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r)
	}) >= 0
}
