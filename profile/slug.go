package profile

import (
	"strconv"

	"github.com/calldibs/dibs"
)

const (
	defaultSlugLength = 80
	maxSlugLength     = 255
)

// Slug is the profile for the part of an address that names a page: lower-case words
// of a to z and 0 to 9 with single hyphens in between. It makes one from a title in
// any script, "Ünïcode & Füße" becomes "unicode-fusse", and refuses only titles that
// leave nothing.
//
// Letters are written in a to z one by one, without regard to the language. Apostrophes
// join what they stand between; everything else that is no letter or digit separates
// words. Letters of the few scripts that it cannot write are left out.
//
// The zero value makes slugs of up to 80 bytes.
type Slug struct {
	// MaxLength is how many bytes a slug may have, 1 to 255. Longer ones are cut at the
	// end of a word. Zero or less means 80, more than 255 means 255.
	MaxLength int
	// Strict accepts only what is a slug already, and offers the slug of what is not.
	Strict bool
}

var (
	_ dibs.Profile = Slug{}
	_ dibs.Joiner  = Slug{}
)

// Name returns "slug/1", with the options that are not the default behind it.
func (s Slug) Name() string {
	name := "slug/1"
	if limit := s.limit(); limit != defaultSlugLength {
		name += ";max=" + strconv.Itoa(limit)
	}
	if s.Strict {
		name += ";strict"
	}
	return name
}

// limit is the length that is in force.
func (s Slug) limit() int {
	if s.MaxLength <= 0 {
		return defaultSlugLength
	}
	return min(s.MaxLength, maxSlugLength)
}

// Canonical returns the slug of a title.
func (s Slug) Canonical(value string) (string, error) {
	limit := s.limit()
	problem, at := slugProblem(value, limit)
	if problem == isSlug {
		return value, nil
	}
	slug := slugOf(value, limit)
	switch {
	case s.Strict:
		return "", refuseStrict(problem, at, slug, len(value), limit)
	case slug != "":
		return slug, nil
	case hasLetter(value):
		return "", refuse("script_not_known", whole, "", "is in a script that cannot be written with a to z")
	}
	return "", refuse("no_letter_or_digit", whole, "", "has no letter or digit in it")
}

// Join appends a word with a hyphen. Where that is too long, words of the slug make
// way, never the one that is appended.
func (s Slug) Join(canonical, word string) string {
	limit := s.limit()
	tail := slugOf(word, limit)
	room := limit - len("-") - len(tail)
	if tail == "" || room < 1 {
		return ""
	}
	head := slugOf(canonical, room)
	joined := head + "-" + tail
	if head == "" || joined == canonical { // cut to what it was
		return ""
	}
	return joined
}
