package dibs

import "fmt"

// Profile makes the canonical form of a value. Two values with the same canonical form are the
// same name. Package profile has profiles for slugs, usernames, emails and host names.
// Implementations must be safe for concurrent use.
type Profile interface {
	// Name has a version, such as "slug/1". It is stored with each name.
	Name() string
	// Canonical returns the canonical form of value. It must be a pure function, and must
	// return its own results unchanged. The value has 1 to 1,024 bytes of UTF-8 without control
	// characters, and so must the result. An error becomes INVALID_VALUE; return a [*Refusal]
	// to say which rule the value breaks and what would be accepted.
	Canonical(value string) (string, error)
}

// Refusal is the reason for which a profile does not accept a value.
type Refusal struct { //nolint:errname // mostly a part of an error, seldom an error itself
	// Rule is for programs, in lower case: "hyphen_at_end". It contains no part of the value.
	Rule string `json:"rule"`
	// Problem is for people, the end of a sentence about the value: "ends with a hyphen".
	Problem string `json:"problem"`
	// At is the byte of the value with the problem, or -1 for the value as a whole.
	At int `json:"at"`
	// Try is a similar value that the profile accepts. Empty means that there is none.
	Try string `json:"try,omitempty"`
}

// Error says what is wrong and what to try.
func (r *Refusal) Error() string {
	if r.Try == "" {
		return r.Problem
	}
	return fmt.Sprintf("%s: try %.80q", r.Problem, r.Try)
}

// Joiner is an optional interface of a [Profile], for suggestions.
type Joiner interface {
	// Join returns the canonical form with a word appended, such as "2" or a city, cut so that
	// the profile accepts it. Empty means no suggestion. The default joins with a hyphen.
	Join(canonical, word string) string
}

// Skeleton maps names that look alike to one text, so that a name and its imitations are not
// given to different entities. Implementations must be pure and safe for concurrent use.
// Package profile has Unicode's.
type Skeleton interface {
	// Name identifies the mapping and its version, such as "uts39/17".
	Name() string
	// Skeleton returns the text that all look-alikes of the canonical form share. It is only
	// compared with other skeletons.
	Skeleton(canonical string) string
}

// Exact is the profile that keeps every value as it is, byte for byte. It is the default.
var Exact Profile = exact{}

type exact struct{}

func (exact) Name() string                           { return "exact/1" }
func (exact) Canonical(value string) (string, error) { return value, nil }

// Words are names that need the right [OverrideReserved]. They must be safe for concurrent use.
type Words interface {
	// Reserved reports whether the canonical form is a reserved word.
	Reserved(canonical string) bool
}

// WordExplainer is an optional interface of [Words], for messages.
type WordExplainer interface {
	// Explain says why the canonical form is reserved, as the end of a sentence about it: "looks
	// like a reserved word". It must not contain the canonical form.
	Explain(canonical string) string
}

// WordList returns Words with exactly these canonical forms.
func WordList(words ...string) Words {
	list := make(wordList, len(words))
	for _, w := range words {
		list[w] = true
	}
	return list
}

type wordList map[string]bool

func (l wordList) Reserved(canonical string) bool { return l[canonical] }
