package profile

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reservedWords is Words, prepared: a name is looked up as it is written, by what it
// looks like, and by what it reads like.
type reservedWords struct {
	except                map[string]struct{}
	written, looks, reads wordForms
	counting              []string // patterns for package path
	lookAlikes            bool
}

// wordForms are the words and patterns of one way to look at a name.
type wordForms struct {
	words map[string]struct{}
	bare  []wordPattern // for the name without separators
	full  []wordPattern // for the name with them
}

// wordRoom is enough for most names, so that looking them up needs no memory.
type wordRoom [64]byte

// Reserved reports whether a name is reserved.
func (r *reservedWords) Reserved(canonical string) bool {
	name := strings.ToLower(reservedPart(canonical)) // some profiles keep capitals
	var room wordRoom
	bare := string(appendBare(room[:0], name))
	if _, free := r.except[bare]; free {
		return false
	}
	return r.written.has(bare, name) || r.countsAs(name) || r.lookAlikes && r.hasLookAlike(bare, name)
}

func (r *reservedWords) hasLookAlike(bare, name string) bool {
	var room, fullRoom wordRoom
	look := string(appendLook(room[:0], bare))
	full := ""
	if len(r.looks.full) > 0 {
		full = string(appendSkeleton(fullRoom[:0], name))
	}
	if r.looks.has(look, full) {
		return true
	}
	if !wordHasDigit(bare) || !wordHasLetter(bare) {
		return false // 401 is a number, and no way to write "aol"
	}
	return r.reads.has(string(appendRead(room[:0], look)), string(appendRead(fullRoom[:0], full)))
}

// countsAs tells whether the name is one of a pattern with ? or [ in it.
func (r *reservedWords) countsAs(name string) bool {
	if len(r.counting) == 0 {
		return false
	}
	name = hideSlashes(name)
	for _, pattern := range r.counting {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

func (f *wordForms) addWord(word string) {
	if f.words == nil {
		f.words = map[string]struct{}{}
	}
	f.words[word] = struct{}{}
}

func (f *wordForms) has(bare, full string) bool {
	if _, ok := f.words[bare]; ok {
		return true
	}
	return matchesAny(f.bare, bare) || matchesAny(f.full, full)
}

// reservedPart is what of a canonical form may be a word: of an email the part before
// the @, of a host name what it shows.
func reservedPart(canonical string) string {
	if local, _ := cutDomain(canonical); len(local) > len("@") {
		return strings.TrimSuffix(local, "@")
	}
	return showLabels(strings.TrimPrefix(canonical, "@")) // as people write a username
}

// wordSeparators are what people put between words, or between letters to get around
// a list of words.
const wordSeparators = "-._"

// appendBare appends a name without its separators.
func appendBare(dst []byte, name string) []byte {
	for i := range len(name) {
		if c := name[i]; c != '-' && c != '.' && c != '_' {
			dst = append(dst, c)
		}
	}
	return dst
}

// appendLook appends the key of a name without separators, and without what looks like
// one.
func appendLook(dst []byte, bare string) []byte {
	var room wordRoom
	return appendBare(dst, string(appendSkeleton(room[:0], bare)))
}

// appendRead appends what a look reads like when its digits stand for letters. As 1 may
// stand for i and for l, both of these become l; 0 and 1 look like letters already.
func appendRead(dst []byte, look string) []byte {
	for i := range len(look) {
		c := look[i]
		switch c {
		case 'i':
			c = 'l'
		case '3':
			c = 'e'
		case '4':
			c = 'a'
		case '5':
			c = 's'
		case '7':
			c = 't'
		case '8':
			c = 'b'
		}
		dst = append(dst, c)
	}
	return dst
}

func wordHasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func wordHasLetter(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return 'a' <= r && r <= 'z' || r >= utf8.RuneSelf && unicode.IsLetter(r)
	}) >= 0
}
