package profile

import (
	"fmt"
	"strings"

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

// addWord adds a word to each form.
func (r *reservedWords) addWord(word string) error {
	tidy := tidyWord(word)
	bare := string(appendBare(nil, tidy))
	switch _, free := r.except[bare]; {
	case tidy == "" || free:
		return nil
	case bare == "":
		return fmt.Errorf("the word %q has separators only", word)
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

// tidyWord trims and normalizes a word.
func tidyWord(word string) string {
	return norm.NFC.String(strings.ToLower(strings.TrimSpace(word)))
}
