package profile

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reservedWords is the prepared form of Words. It looks a name up as written, by its looks,
// and by how it reads.
type reservedWords struct {
	except                map[string]struct{}
	written, looks, reads wordForms
	globs                 []string // patterns for package path
	lookAlikes            bool
}

// wordForms are the words and patterns of one form of names.
type wordForms struct {
	words map[string]struct{}
	bare  []wordPattern // for the name without separators
	full  []wordPattern // for the name with them
}

// wordBuffer is large enough for most names, so that looking them up does not allocate.
type wordBuffer [64]byte

// Reserved reports whether a name is reserved.
func (r *reservedWords) Reserved(canonical string) bool {
	name := strings.ToLower(reservedPart(canonical)) // some profiles keep capitals
	var buffer wordBuffer
	bare := string(appendBare(buffer[:0], name))
	if _, free := r.except[bare]; free {
		return false
	}
	return r.written.has(bare, name) || r.matchesGlob(name) || r.lookAlikes && r.hasLookAlike(bare, name)
}

func (r *reservedWords) hasLookAlike(bare, name string) bool {
	var buffer, fullBuffer wordBuffer
	look := string(appendLook(buffer[:0], bare))
	full := ""
	if len(r.looks.full) > 0 {
		full = string(appendSkeleton(fullBuffer[:0], name))
	}
	if r.looks.has(look, full) {
		return true
	}
	if !wordHasDigit(bare) || !wordHasLetter(bare) {
		return false // 401 is a number, it does not read as "aol"
	}
	return r.reads.has(string(appendRead(buffer[:0], look)), string(appendRead(fullBuffer[:0], full)))
}

// matchesGlob reports whether a name matches a pattern with ? or [.
func (r *reservedWords) matchesGlob(name string) bool {
	if len(r.globs) == 0 {
		return false
	}
	name = hideSlashes(name)
	for _, pattern := range r.globs {
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

// reservedPart returns the part of a canonical form that may be a word: the part of an email
// before the @, and a host name with its labels decoded.
func reservedPart(canonical string) string {
	if local, _ := cutDomain(canonical); len(local) > len("@") {
		return strings.TrimSuffix(local, "@")
	}
	return showLabels(strings.TrimPrefix(canonical, "@")) // a username may begin with @
}

// wordSeparators separate words, or letters in order to evade a list of words.
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

// appendLook appends the key of a name without separators, and without characters that look
// like one.
func appendLook(dst []byte, bare string) []byte {
	var buffer wordBuffer
	return appendBare(dst, string(appendSkeleton(buffer[:0], bare)))
}

// appendRead appends how a look reads if its digits stand for letters. Since 1 may stand for
// i and for l, both become l; 0 and 1 already look like letters.
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
