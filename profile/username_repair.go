package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/secure/bidirule"
	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// repair returns what is near to a value that was refused, and may be accepted: "-" for
// spaces, plain characters for those made of them ("IV" for the Roman numeral), and the
// rest left out.
func (u Username) repair(value string) string {
	var repaired strings.Builder
	for rest := strings.ToValidUTF8(value, ""); rest != ""; {
		part := nextUsernamePart(rest)
		rest = rest[len(part):]
		repaired.WriteString(repairUsernamePart(part))
	}
	text := strings.Join(strings.FieldsFunc(repaired.String(), unicode.IsSpace), "-")
	if _, err := usernames.String(text); err != nil {
		text = dropContext(text)
	}
	if bidirule.DirectionString(text) == bidi.RightToLeft && !bidirule.ValidString(text) {
		text = trimDirection(text)
	}
	return cutUsername(mapUsername(text), u.most(), maxUsernameBytes)
}

// repairUsernamePart leaves a space for a space.
func repairUsernamePart(part string) string {
	if usernamePartAllowed(part) {
		return part
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsSpace(r) && !usernamePartAllowed(string(r)) {
			return -1
		}
		return r
	}, norm.NFKC.String(part))
}

// cutUsername cuts a text to some characters and bytes. It does not part a character
// from its marks.
func cutUsername(text string, characters, bytes int) string {
	end := 0
	for end < len(text) {
		part := nextUsernamePart(text[end:])
		characters -= utf8.RuneCountInString(part)
		if characters < 0 || end+len(part) > bytes {
			break
		}
		end += len(part)
	}
	return text[:end]
}
