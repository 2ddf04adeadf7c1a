package profile

import (
	"strings"
	"unicode/utf8"
)

// Join appends "-" and the word, or the word only if a hyphen is not allowed there. It cuts
// the username to the length that is left.
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
