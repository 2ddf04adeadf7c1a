package profile

import (
	"errors"
	"strings"
	"unicode"

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
	try := unmixed(canonical)
	if len(try) > maxTry || strings.ContainsFunc(try, unicode.IsControl) || !o.accepts(try) {
		return ""
	}
	return try
}

// maxTry is the maximum of bytes of a value. A letter may look like several.
const maxTry = 1024

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
