package profile

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/calldibs/dibs"
)

// Words says which names are reserved. The zero Words reserves nothing.
//
// A name is compared in small letters, and without hyphens, dots and underscores: where
// "login" is reserved, so are "Log-in" and "l.o.g.i.n". Of an email it is the part
// before the @, of a host name what its "xn--" labels show. It must be the word as a
// whole; a word inside of another one needs a pattern.
type Words struct {
	// Lists are the lists of this package, see [AllLists], or others. Nil means none.
	Lists []List
	// Own are further words. Empty ones are skipped, spaces around them do not count.
	// Nil means none.
	Own []string
	// Patterns reserve all names of a form: "admin*" what begins so, "*-support" what
	// ends so, "??" what has two characters; [path.Match] has the rules. One that has
	// a hyphen, a dot, an underscore, a ? or a [ in it is compared with the name as it
	// is written. Nil means none.
	Patterns []string
	// Except are names that are free in spite of all the others. Nil means none.
	Except []string
	// LookAlikes reserves also what looks like a reserved word, see [Confusables], and
	// what reads like one with digits for letters: "аdmin" with a Cyrillic letter,
	// "adm1n", "4dm1n", "supp0rt". Patterns with ? or [ count characters, and have no
	// look-alikes. False means that a look-alike is any other name.
	LookAlikes bool
}

// ReservedWords prepares words for [dibs.Policy.ReservedWords]. It fails on a pattern
// that is not well-formed or that reserves every name, and on a word without a letter.
func ReservedWords(w Words) (dibs.Words, error) {
	r := &reservedWords{except: map[string]struct{}{}, lookAlikes: w.LookAlikes}
	for _, name := range w.Except {
		if bare := appendBare(nil, tidyWord(name)); len(bare) > 0 {
			r.except[string(bare)] = struct{}{}
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

// addWord reserves a word in each form in which names are looked up.
func (r *reservedWords) addWord(word string) error {
	tidy := tidyWord(word)
	bare := string(appendBare(nil, tidy))
	switch _, free := r.except[bare]; {
	case tidy == "" || free:
		return nil
	case bare == "":
		return fmt.Errorf("the word %q has nothing but separators", word)
	}
	r.written.addWord(bare)
	if r.lookAlikes {
		look := string(appendLook(nil, bare))
		r.looks.addWord(look)
		if !wordHasDigit(bare) {
			r.reads.addWord(string(appendRead(nil, look)))
		}
	}
	return nil
}

// tidyWord brings a word, as people put it into a file, into the form of names.
func tidyWord(word string) string {
	return norm.NFC.String(strings.ToLower(strings.TrimSpace(word)))
}
