// Package profile defines which names are the same: the canonical form of a value, the
// reserved words, and which names look alike.
//
//	words, err := profile.ReservedWords(profile.Words{Lists: profile.AllLists, LookAlikes: true})
//	...
//	dibs.Policy{
//		Profile:       profile.Username{},
//		ReservedWords: words,
//		Skeleton:      profile.Confusables,
//	}
//
// Every type is a plain struct whose zero value is ready to use, and is safe for concurrent
// use. For every value, a profile keeps this contract:
//
//   - It accepts its own results, and does not change them.
//   - It refuses a value with a [*dibs.Refusal]: the rule, the position, and a value to try
//     instead, which it accepts.
//   - Its name contains its version and every option that decides which names are the same.
//     The registry stores it with each name.
package profile

import (
	"embed"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/rangetable"

	"github.com/calldibs/dibs"
)

// whole is the position of a problem of the whole value.
const whole = -1

// refuse returns the refusal of a value: the rule that it breaks, the byte at which it does,
// and the message for people.
func refuse(rule string, at int, format string, args ...any) *dibs.Refusal {
	return &dibs.Refusal{Rule: rule, Problem: fmt.Sprintf(format, args...), At: at}
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hasPrefixFold reports whether a text begins with a prefix in any case.
func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// lowerText returns a text in lower case by the full mapping of Unicode, without its special
// case for the Greek sigma at the end of a word.
func lowerText(text string) string {
	return cases.Lower(language.Und, cases.HandleFinalSigma(false)).String(text)
}

// rangeTable returns the table of characters and ranges of them, in hexadecimal: "00AD",
// "115F-1160".
func rangeTable(ranges ...string) *unicode.RangeTable {
	var characters []rune
	for _, text := range ranges {
		var first, last rune
		if n, _ := fmt.Sscanf(text, "%x-%x", &first, &last); n == 1 {
			last = first
		}
		for r := first; r <= last; r++ {
			characters = append(characters, r)
		}
	}
	return rangetable.New(characters...)
}

//go:embed data
var data embed.FS

// dataLines returns the lines of an embedded file without comments, which begin with #.
func dataLines(file string) (lines []string) {
	text, err := data.ReadFile("data/" + file)
	if err != nil {
		panic(err) // a wrong name, which every test notices
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
