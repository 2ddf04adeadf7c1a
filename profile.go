package dibs

import "fmt"

// Profile turns what a person wrote into the form on which names are unique.
//
// Canonical must be a pure function, must accept its own results and must leave
// them as they are. It is never called with a value that breaks the rules for
// all profiles: 1 to 1,024 bytes of UTF-8 without control characters. The same
// rules hold for what it returns. An error becomes INVALID_VALUE; return a [*Refusal],
// which says which rule the value breaks and what would be accepted.
// Implementations must be safe for concurrent use. Package profile has profiles for
// slugs, usernames, emails and host names.
type Profile interface {
	// Name identifies the profile and its version, such as "slug/1". It is
	// stored with each name.
	Name() string
	// Canonical returns the canonical form of value.
	Canonical(value string) (string, error)
}

// Refusal is why a profile does not accept a value.
type Refusal struct { //nolint:errname // it is the reason of an error, more often than one itself
	// Rule names the rule for programs, in lower case: "hyphen_at_end". It never has
	// a part of the value in it.
	Rule string
	// Problem says the same to a person, as the end of a sentence that begins with
	// the value: "ends with a hyphen".
	Problem string
	// At is the byte of the value at which the problem is, or -1 where it is the value
	// as a whole.
	At int
	// Try is what would be accepted in its place, and is near to what was meant. Empty
	// where nothing is.
	Try string
}

// Error says what is wrong and what to try.
func (r *Refusal) Error() string {
	if r.Try == "" {
		return r.Problem
	}
	return fmt.Sprintf("%s: try %.80q", r.Problem, r.Try)
}

// Joiner is what a [Profile] may implement beside: it makes names like one that is
// taken.
type Joiner interface {
	// Join returns the canonical form with a word appended, such as "2" or a city,
	// cut so that the profile accepts it. Empty means that such a name makes no
	// sense. Without a Joiner it is the two with a hyphen in between.
	Join(canonical, word string) string
}

// Skeleton maps names that look alike to one text, so that nobody can take a name
// beside the one that it imitates. Its results are only ever compared. Implementations
// must be pure, and safe for concurrent use. Package profile has that of Unicode.
type Skeleton interface {
	// Name identifies the mapping and its version, such as "uts39/17".
	Name() string
	// Skeleton returns what all look-alikes of the canonical form have in common.
	Skeleton(canonical string) string
}

// Exact is the profile that takes every value as it is, byte for byte. It is the
// default.
var Exact Profile = exact{}

type exact struct{}

func (exact) Name() string                           { return "exact/1" }
func (exact) Canonical(value string) (string, error) { return value, nil }

// Words is a list of names that nobody gets without the right to override it.
// Implementations must be safe for concurrent use.
type Words interface {
	// Reserved reports whether the canonical form is a reserved word.
	Reserved(canonical string) bool
}

// WordList returns Words that hold exactly the given canonical forms.
func WordList(words ...string) Words {
	list := make(wordList, len(words))
	for _, w := range words {
		list[w] = struct{}{}
	}
	return list
}

type wordList map[string]struct{}

func (l wordList) Reserved(canonical string) bool {
	_, ok := l[canonical]
	return ok
}
