package profile

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/calldibs/dibs"
)

// Words configures which names are reserved. The zero Words reserves nothing.
//
// Names are compared in lower case, and without hyphens, dots and underscores: if "login" is
// reserved, so are "Log-in" and "l.o.g.i.n". Of an email only the part before the @ counts,
// and "xn--" labels of a host name are decoded. The whole name must be the word; for a word
// inside of a name use a pattern.
type Words struct {
	// Lists are the lists of this package, see [AllLists], or others. Nil means none.
	Lists []List
	// Own are further words. Empty ones and surrounding spaces are ignored. Nil means none.
	Own []string
	// Patterns reserve all names of a form: "admin*" by their start, "*-support" by their end,
	// "??" those of two characters; see [path.Match]. A pattern with a hyphen, a dot, an
	// underscore, a ? or a [ is compared with the name including its separators. Nil means
	// none.
	Patterns []string
	// Except are names that are not reserved in spite of the other fields. Nil means none.
	Except []string
	// LookAlikes also reserves names that look like a reserved word, see [Confusables], or
	// read like one with digits for letters: "аdmin" with a Cyrillic letter, "adm1n", "4dm1n",
	// "supp0rt". It does not apply to patterns with ? or [, which count characters. False
	// means that look-alikes are not reserved.
	LookAlikes bool
}

// ReservedWords prepares words for [dibs.Policy.ReservedWords]. It returns an error for an
// invalid pattern, a pattern that reserves every name, and a word of separators only. The
// result is safe for concurrent use.
func ReservedWords(w Words) (dibs.Words, error) {
	r := &reservedWords{except: map[string]bool{}, lookAlikes: w.LookAlikes}
	for _, form := range []*wordForms{&r.written, &r.looks, &r.reads} {
		form.words = map[string]bool{}
	}
	for _, name := range w.Except {
		if bare := appendBare(nil, tidyWord(name)); len(bare) > 0 {
			r.except[string(bare)] = true
		}
	}
	for _, list := range w.Lists {
		for _, word := range list.Words {
			if err := r.addWord(word); err != nil {
				return nil, fmt.Errorf("profile: reserved words, list %q: %w", list.Name, err)
			}
		}
	}
	for _, word := range w.Own {
		if err := r.addWord(word); err != nil {
			return nil, fmt.Errorf("profile: reserved words: %w", err)
		}
	}
	for _, pattern := range w.Patterns {
		if err := r.addPattern(pattern); err != nil {
			return nil, fmt.Errorf("profile: reserved words: %w", err)
		}
	}
	return r, nil
}

// addWord adds a word to each form.
func (r *reservedWords) addWord(word string) error {
	tidy := tidyWord(word)
	bare := string(appendBare(nil, tidy))
	switch {
	case tidy == "" || r.except[bare]:
		return nil
	case bare == "":
		return fmt.Errorf("the word %q has separators only", word)
	}
	r.written.words[bare] = true
	if r.lookAlikes {
		look := string(appendLook(nil, bare))
		r.looks.words[look] = true
		if !wordHasDigit(bare) {
			r.reads.words[string(appendRead(nil, look))] = true
		}
	}
	return nil
}

func tidyWord(word string) string {
	return norm.NFC.String(strings.ToLower(strings.TrimSpace(word)))
}

// List is a list of words that many products reserve. The lists of this package are
// sorted, and have lower-case letters, digits and hyphens only.
type List struct {
	// Name identifies the list: "routes".
	Name string
	// Words are the words. Nil means none.
	Words []string
}

func builtIn(name string) List {
	return List{Name: name, Words: slices.Sorted(slices.Values(dataLines("words-" + name + ".txt")))}
}

// AllLists are the lists of this package.
var AllLists = []List{Essential, Routes, Roles, Infrastructure, Support, Brands}

// Essential are the words that nearly every product keeps for itself, without any that people
// want. [Defaults] reserve them.
var Essential = builtIn("essential")

// Routes are paths that a web site needs itself, so that example.com/login is never the page
// of a user named login.
var Routes = builtIn("routes")

// Roles are names that suggest rights, and names that stand for no particular person.
var Roles = builtIn("roles")

// Infrastructure are names that machines look up: hosts by convention, names that mail
// clients and browsers request by themselves, names that standards reserve.
var Infrastructure = builtIn("infrastructure")

// Support are addresses at which people expect the operator, including those that RFC 2142
// defines, and those that can get a certificate for a domain.
var Support = builtIn("support")

// Brands are words for impersonation: words that claim to be authentic, and some of the
// brands that are imitated most.
var Brands = builtIn("brands")

// reservedWords is the prepared form of Words. It looks a name up as written, by its looks,
// and by how it reads.
type reservedWords struct {
	except                map[string]bool
	written, looks, reads wordForms
	globs                 []string // patterns for package path
	lookAlikes            bool
}

// wordForms are the words and patterns of one form of names.
type wordForms struct {
	words map[string]bool
	bare  []wordPattern // for the name without separators
	full  []wordPattern // for the name with them
}

// wordBuffer is large enough for most names, so that looking them up does not allocate.
type wordBuffer [64]byte

// Explain says why a name is reserved, as the end of a sentence about it.
func (r *reservedWords) Explain(canonical string) string {
	name := strings.ToLower(reservedPart(canonical))
	if bare := string(appendBare(nil, name)); r.written.has(bare, name) || r.matchesGlob(name) {
		return "is a reserved word here"
	}
	return "looks like a word that is reserved here"
}

// Reserved reports whether a name is reserved.
func (r *reservedWords) Reserved(canonical string) bool {
	name := strings.ToLower(reservedPart(canonical)) // some profiles keep capitals
	var buffer wordBuffer
	bare := string(appendBare(buffer[:0], name))
	if r.except[bare] {
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
	if !wordHasDigit(bare) || !strings.ContainsFunc(bare, unicode.IsLetter) {
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

func (f *wordForms) has(bare, full string) bool {
	return f.words[bare] || matchesAny(f.bare, bare) || matchesAny(f.full, full)
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

// wordPattern is a pattern with no special character other than *, split at these.
type wordPattern []string

// addPattern adds a pattern to each form.
func (r *reservedWords) addPattern(pattern string) error {
	tidy := tidyWord(pattern)
	if tidy == "" {
		return nil
	}
	glob := hideSlashes(tidy)
	if _, err := path.Match(glob, ""); err != nil {
		return fmt.Errorf("the pattern %q is invalid: a [ is not closed or empty, or a backslash is at the end", pattern)
	}
	if reservesAll(glob) {
		return fmt.Errorf("the pattern %q reserves every name", pattern)
	}
	if strings.ContainsAny(glob, `?[\`) {
		r.globs = append(r.globs, glob)
		return nil
	}
	full := strings.ContainsAny(tidy, wordSeparators)
	written := wordPattern(strings.Split(tidy, "*"))
	r.written.addPattern(written, full)
	if !r.lookAlikes {
		return nil
	}
	looks := written.each(Confusables.Skeleton)
	r.looks.addPattern(looks, full)
	if !wordHasDigit(tidy) {
		r.reads.addPattern(looks.each(func(part string) string { return string(appendRead(nil, part)) }), full)
	}
	return nil
}

func (f *wordForms) addPattern(p wordPattern, full bool) {
	if full {
		f.full = append(f.full, p)
	} else {
		f.bare = append(f.bare, p)
	}
}

// each returns the pattern with each of its parts changed.
func (p wordPattern) each(change func(part string) string) wordPattern {
	changed := slices.Clone(p)
	for i, part := range p {
		changed[i] = change(part)
	}
	return changed
}

func matchesAny(patterns []wordPattern, name string) bool {
	return slices.ContainsFunc(patterns, func(p wordPattern) bool { return p.matches(name) })
}

func (p wordPattern) matches(name string) bool {
	first, last := p[0], p[len(p)-1]
	if len(p) == 1 {
		return name == first
	}
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	rest := name[len(first) : len(name)-len(last)]
	for _, part := range p[1 : len(p)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}

// reservesAll tries two names without a common character and of different lengths.
func reservesAll(glob string) bool {
	letters, _ := path.Match(glob, strings.Repeat("m", 12))
	digits, _ := path.Match(glob, strings.Repeat("7", 13))
	return letters && digits
}

// hideSlashes replaces slashes, which * does not match in package path, by a control
// character, which no name contains.
func hideSlashes(name string) string { return strings.ReplaceAll(name, "/", "\x00") }
