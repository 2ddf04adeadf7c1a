package profile

import (
	"strings"
	"unicode/utf8"
)

// Join returns the username with "-" and the word appended, or with the word alone
// where a hyphen cannot be there, and cuts the username to the length that is left.
func (u Username) Join(canonical, word string) string {
	if canonical == "" || word == "" {
		return ""
	}
	for _, separator := range []string{"-", ""} {
		end := separator + word
		start := cutUsername(canonical, u.most()-utf8.RuneCountInString(end), maxUsernameBytes-len(end))
		if start != canonical {
			start = strings.TrimRight(start, "-")
		}
		if start == "" {
			continue
		}
		if joined, refusal := u.check(start + end); refusal == nil {
			return joined
		}
	}
	return ""
}
