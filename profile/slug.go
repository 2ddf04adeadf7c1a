package profile

import (
	"cmp"
	"strconv"

	"github.com/calldibs/dibs"
)

const (
	defaultSlugLength = 80
	maxSlugLength     = 255
)

// Slug is the profile for the part of a URL that names a page: words of a to z and 0 to 9
// with single hyphens in between. It makes a slug from a title in any script:
// "Ünïcode & Füße" becomes "unicode-fusse". It refuses only titles of which nothing would be
// left.
//
// It transliterates letters one by one, independent of the language. It drops apostrophes;
// every other character that is not a letter or digit separates words. It drops letters of the
// few scripts that it cannot transliterate.
//
// The zero Slug makes slugs of up to 80 bytes.
type Slug struct {
	// MaxLength is the maximum of bytes, 1 to 255. Longer slugs are cut at the end of a word.
	// Zero or less means 80, more than 255 means 255.
	MaxLength int
	// Strict accepts slugs only, and offers the slug of any other value. False means that
	// every title becomes a slug.
	Strict bool
}

var (
	_ dibs.Profile = Slug{}
	_ dibs.Joiner  = Slug{}
)

// Name returns "slug/1", followed by the options that are not the default.
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

// limit returns the maximum of bytes.
func (s Slug) limit() int {
	return min(cmp.Or(max(s.MaxLength, 0), defaultSlugLength), maxSlugLength)
}

// Canonical returns the slug of a title. Its errors are [*dibs.Refusal].
func (s Slug) Canonical(value string) (string, error) {
	limit := s.limit()
	problem, at := slugProblem(value, limit)
	if problem == isSlug {
		return value, nil
	}
	slug := slugOf(value, limit)
	switch {
	case s.Strict:
		refusal := refuseStrict(problem, at, len(value), limit)
		refusal.Try = slug
		return "", refusal
	case slug != "":
		return slug, nil
	case hasLetter(value):
		return "", refuse("script_not_known", whole, "is in a script that cannot be written with a to z")
	}
	return "", refuse("no_letter_or_digit", whole, "has no letter or digit in it")
}

// Join appends a word with a hyphen. If the result is too long, it cuts words of the slug,
// never the appended one.
func (s Slug) Join(canonical, word string) string {
	limit := s.limit()
	tail := slugOf(word, limit)
	room := limit - len("-") - len(tail)
	if tail == "" || room < 1 {
		return ""
	}
	head := slugOf(canonical, room)
	joined := head + "-" + tail
	if head == "" || joined == canonical { // cut to the same slug
		return ""
	}
	return joined
}
