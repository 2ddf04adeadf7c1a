package profile

import (
	"errors"
	"strings"
	"unicode"

	"github.com/calldibs/dibs"
)

// OneScript returns the profile p without names that mix scripts, such as "pаypal" with
// one Cyrillic letter: whoever reads a name then knows each letter for what it is. It
// refuses them as "mixed_scripts", by the rules that Unicode's technical standard 39
// has for a single script:
//
//   - Japanese may mix Han, Hiragana and Katakana, Chinese Han and Bopomofo, Korean
//     Hangul and Han.
//   - What belongs to no script goes with each: the digits 0 to 9, hyphens, accents,
//     emoji. Digits of two number systems are refused as "mixed_digits".
//   - The part of an email before the @ and each label of a host name are looked at by
//     themselves, as people see them: "xn--..." is decoded.
//
// A name all of whose letters are of another script passes, though it may look like a
// Latin one. Against that there are [Confusables]. The profile's own rules come first.
// Nil means [dibs.Exact].
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
	// The place is one in the value, which may be longer than its canonical form.
	if written := findMix(value); written != nil && written.problem == problem {
		at, problem = written.at, problem+" "+written.place()
	}
	return "", refuse(mix.rule, at, o.try(canonical), "%s", problem)
}

// try returns what would be accepted in place of a name that mixes scripts.
func (o oneScript) try(canonical string) string {
	try := unmixed(canonical)
	if len(try) > mostTry || strings.ContainsFunc(try, unicode.IsControl) || !o.accepts(try) {
		return ""
	}
	return try
}

// mostTry is how long a value may be. A letter can look like several.
const mostTry = 1024

// checkTry takes back what the inner profile offers where it mixes scripts.
func (o oneScript) checkTry(err error) error {
	var refusal *dibs.Refusal
	if !errors.As(err, &refusal) || refusal.Try == "" || o.accepts(refusal.Try) {
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

// oneScriptJoiner is oneScript of a profile that makes names.
type oneScriptJoiner struct{ oneScript }

func (o oneScriptJoiner) Join(canonical, word string) string {
	joined := o.inner.(dibs.Joiner).Join(canonical, word)
	if !o.accepts(joined) {
		return ""
	}
	return joined
}
