package profile

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gosimple/unidecode"
	"golang.org/x/text/unicode/norm"

	"github.com/calldibs/dibs"
)

const (
	defaultSlugLength = 80
	maxSlugLength     = 255
)

// Slug is the profile for the part of a URL that names a page: words of a to z and 0 to 9
// with single hyphens in between. It makes a slug from a title in any script:
// "Ünïcode & Füße" becomes "unicode-fusse". It refuses only titles of which nothing would be
// left.
//
// It transliterates letters one by one, independent of the language. It drops apostrophes;
// every other character that is not a letter or digit separates words. It drops letters of the
// few scripts that it cannot transliterate.
//
// The zero Slug makes slugs of up to 80 bytes.
type Slug struct {
	// MaxLength is the maximum of bytes, 1 to 255. Longer slugs are cut at the end of a word.
	// Zero or less means 80, more than 255 means 255.
	MaxLength int
	// Strict accepts slugs only, and offers the slug of any other value. False means that
	// every title becomes a slug.
	Strict bool
}

var (
	_ dibs.Profile = Slug{}
	_ dibs.Joiner  = Slug{}
)

// Name returns "slug/1", followed by the options that are not the default.
func (s Slug) Name() string {
	name := "slug/1"
	if limit := s.limit(); limit != defaultSlugLength {
		name += ";max=" + strconv.Itoa(limit)
	}
	if s.Strict {
		name += ";strict"
	}
	return name
}

func (s Slug) limit() int {
	return min(cmp.Or(max(s.MaxLength, 0), defaultSlugLength), maxSlugLength)
}

// Canonical returns the slug of a title. Its errors are [*dibs.Refusal].
func (s Slug) Canonical(value string) (string, error) {
	limit := s.limit()
	problem, at := slugProblem(value, limit)
	if problem == isSlug {
		return value, nil
	}
	slug := slugOf(value, limit)
	switch {
	case s.Strict:
		refusal := refuseStrict(problem, at, len(value), limit)
		refusal.Try = slug
		return "", refusal
	case slug != "":
		return slug, nil
	case hasLetter(value):
		return "", refuse("script_not_known", whole, "is in a script that cannot be written with a to z")
	}
	return "", refuse("no_letter_or_digit", whole, "has no letter or digit in it")
}

// Join appends a word with a hyphen. If the result is too long, it cuts words of the slug,
// never the appended one.
func (s Slug) Join(canonical, word string) string {
	limit := s.limit()
	tail := slugOf(word, limit)
	room := limit - len("-") - len(tail)
	if tail == "" || room < 1 {
		return ""
	}
	head := slugOf(canonical, room)
	joined := head + "-" + tail
	if head == "" || joined == canonical { // cut to the same slug
		return ""
	}
	return joined
}

// isSlug is the result of slugProblem for a slug.
const isSlug = ""

// slugProblem returns the first rule of slugs that a value breaks, and the byte at which it
// does.
func slugProblem(value string, limit int) (rule string, at int) {
	if value == "" {
		return "no_letter_or_digit", whole
	}
	for i := range len(value) {
		switch c := value[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case 'A' <= c && c <= 'Z':
			return "upper_case", i
		case c != '-':
			return "character_not_allowed", i
		case i == 0:
			return "hyphen_at_start", i
		case value[i-1] == '-':
			return "two_hyphens", i
		}
	}
	switch {
	case value[len(value)-1] == '-':
		return "hyphen_at_end", len(value) - 1
	case len(value) > limit:
		return "too_long", whole
	}
	return isSlug, whole
}

// refuseStrict returns the refusal for a result of slugProblem.
func refuseStrict(rule string, at, length, limit int) *dibs.Refusal {
	switch rule {
	case "upper_case":
		return refuse(rule, at, "has an upper-case letter at byte %d", at)
	case "character_not_allowed":
		return refuse(rule, at, "has a character that is not allowed at byte %d", at)
	case "hyphen_at_start":
		return refuse(rule, at, "starts with a hyphen")
	case "two_hyphens":
		return refuse(rule, at, "has two hyphens in a row at byte %d", at)
	case "hyphen_at_end":
		return refuse(rule, at, "ends with a hyphen")
	case "too_long":
		return refuse(rule, at, "has %d bytes, more than the %d allowed", length, limit)
	}
	return refuse(rule, at, "has no letter or digit in it")
}

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
		if r == '々' && unicode.Is(unicode.Han, last) { // it repeats the character before it
			r = last
		}
		last = r
		b.addRune(r)
		if b.full() {
			return
		}
	}
}

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
	return strings.ContainsFunc(norm.NFKC.String(text), func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r)
	})
}

// transliterate returns a letter, mark or number in ASCII, or an empty string. The table
// lacks some letters whose other case it has.
func transliterate(r rune) string {
	for _, r := range [...]rune{r, unicode.ToLower(r), unicode.ToUpper(r)} {
		if r <= unicode.MaxASCII {
			return string(r)
		}
		if text, ok := transliterations[r]; ok {
			return text
		}
		if text := unidecode.Unidecode(string(r)); text != "" && text != "[?]" { // for a character that it lacks
			return text
		}
	}
	return ""
}

// transliterations are letters in everyday use that the table lacks or maps to a sign.
// Without them different names would be the same.
var transliterations = func() map[rune]string {
	table := make(map[rune]string)
	for _, line := range dataLines("transliterations.txt") {
		letter, size := utf8.DecodeRuneInString(line)
		table[letter] = line[size+len(" "):]
	}
	return table
}()
