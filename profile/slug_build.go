package profile

import (
	"bytes"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// slugOf returns the slug of a text, cut to the limit. It may be empty.
func slugOf(text string, limit int) string {
	var b slugBuilder
	b.limit = limit
	if !b.addASCII(text) {
		b = slugBuilder{limit: limit}
		b.addAny(text)
	}
	return b.String()
}

// slugBuilder joins words. It keeps one byte more than the limit, to see whether a word ends
// at the limit, and drops the rest.
type slugBuilder struct {
	text    [maxSlugLength + 1]byte
	size    int
	limit   int
	newWord bool // the next letter begins a word
}

func (b *slugBuilder) full() bool { return b.size > b.limit }

// add appends a letter or digit in lower case, after a hyphen if it begins a word. It reports
// false for any other byte.
func (b *slugBuilder) add(c byte) bool {
	switch {
	case 'A' <= c && c <= 'Z':
		c += 'a' - 'A'
	case ('a' > c || c > 'z') && ('0' > c || c > '9'):
		return false
	}
	if b.newWord && b.size > 0 && !b.full() {
		b.text[b.size] = '-'
		b.size++
	}
	b.newWord = false
	if !b.full() {
		b.text[b.size] = c
		b.size++
	}
	return true
}

// addASCII appends ASCII, and reports false for any other text.
func (b *slugBuilder) addASCII(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c > unicode.MaxASCII:
			return false
		case !b.add(c) && c != '\'':
			b.newWord = true
		}
	}
	return true
}

// beforeCompatibility replaces what the compatibility mapping does badly: trade marks are not
// letters, and the "am" of Thai and Lao would become "maa".
var beforeCompatibility = strings.NewReplacer("™", " ", "℠", " ", "ำ", "am", "ຳ", "am")

// addAny appends text in any script. The compatibility mapping comes first: it turns styled
// letters, which the table of letters lacks, into plain ones.
func (b *slugBuilder) addAny(text string) {
	var last rune
	for _, r := range norm.NFKC.String(beforeCompatibility.Replace(text)) {
		if r == iterationMark && unicode.Is(unicode.Han, last) {
			r = last
		}
		last = r
		b.addRune(r)
		if b.full() {
			return
		}
	}
}

// iterationMark repeats the Han character before it.
const iterationMark = '々'

func (b *slugBuilder) addRune(r rune) {
	switch {
	case joinsWords(r):
	case !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Number):
		b.newWord = true
	case unicode.Is(unicode.Han, r): // each is a word
		b.newWord = true
		b.addTransliterated(r)
		b.newWord = true
	default:
		b.addTransliterated(r)
	}
}

// addTransliterated appends the transliteration of a letter. Signs in it, such as those for
// the soft sign or a glottal stop, do not end a word.
func (b *slugBuilder) addTransliterated(r rune) {
	for _, c := range []byte(transliterate(r)) {
		b.add(c)
	}
}

// String returns the slug. It cuts a slug that is too long at the end of a word, or within
// the first word.
func (b *slugBuilder) String() string {
	if !b.full() {
		return string(b.text[:b.size])
	}
	if end := bytes.LastIndexByte(b.text[:b.size], '-'); end > 0 {
		return string(b.text[:end])
	}
	return string(b.text[:b.limit])
}

// joinsWords reports whether a character is dropped without ending a word: apostrophes and
// invisible characters.
func joinsWords(r rune) bool {
	const zeroWidthSpace = '\u200B' // separates words in Thai and Khmer
	switch r {
	case '\'', '’', '‘', '׳', '״':
		return true
	}
	return r != zeroWidthSpace && unicode.Is(unicode.Cf, r)
}

// hasLetter reports whether a text has a letter or digit of any script.
func hasLetter(text string) bool {
	return strings.IndexFunc(norm.NFKC.String(text), func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r)
	}) >= 0
}
