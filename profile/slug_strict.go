package profile

import "github.com/calldibs/dibs"

// isSlug is the result of slugProblem for a slug.
const isSlug = ""

// slugProblem returns the first rule of slugs that a value breaks, and the byte at which it
// does.
func slugProblem(value string, limit int) (rule string, at int) {
	if value == "" {
		return "no_letter_or_digit", whole
	}
	for i := range len(value) {
		switch c := value[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case 'A' <= c && c <= 'Z':
			return "upper_case", i
		case c != '-':
			return "character_not_allowed", i
		case i == 0:
			return "hyphen_at_start", i
		case value[i-1] == '-':
			return "two_hyphens", i
		}
	}
	switch {
	case value[len(value)-1] == '-':
		return "hyphen_at_end", len(value) - 1
	case len(value) > limit:
		return "too_long", whole
	}
	return isSlug, whole
}

// refuseStrict returns the refusal for a result of slugProblem.
func refuseStrict(rule string, at, length, limit int) *dibs.Refusal {
	switch rule {
	case "upper_case":
		return refuse(rule, at, "has an upper-case letter at byte %d", at)
	case "character_not_allowed":
		return refuse(rule, at, "has a character that is not allowed at byte %d", at)
	case "hyphen_at_start":
		return refuse(rule, at, "starts with a hyphen")
	case "two_hyphens":
		return refuse(rule, at, "has two hyphens in a row at byte %d", at)
	case "hyphen_at_end":
		return refuse(rule, at, "ends with a hyphen")
	case "too_long":
		return refuse(rule, at, "has %d bytes, more than the %d allowed", length, limit)
	}
	return refuse(rule, at, "has no letter or digit in it")
}
