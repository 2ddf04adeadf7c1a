package dibs

// Profile turns what a person wrote into the form on which names are unique.
//
// Canonical must be a pure function, must accept its own results and must leave
// them as they are. It is never called with a value that breaks the rules for
// all profiles: 1 to 1,024 bytes of UTF-8 without control characters. The same
// rules hold for what it returns. An error becomes INVALID_VALUE; its text should
// say which rule the value breaks and what would be accepted. Implementations
// must be safe for concurrent use.
type Profile interface {
	// Name identifies the profile and its version, such as "slug/1". It is
	// stored with each name.
	Name() string
	// Canonical returns the canonical form of value.
	Canonical(value string) (string, error)
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
