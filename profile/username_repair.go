package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// repair returns a value close to a refused one, which may be accepted: with "-" for spaces,
// plain characters for compatible ones ("IV" for the Roman numeral), and without the rest.
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
	if breaksBidiRule(text) {
		text = trimDirection(text)
	}
	return cutUsername(mapUsername(text), u.most(), maxUsernameBytes)
}

// repairUsernamePart keeps spaces.
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

// cutUsername cuts a text to a number of characters and bytes. It does not separate a
// character from its marks.
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
