package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// repairLabel returns the decoded label that a value probably means, or an empty string. The
// profile accepts it.
func repairLabel(value string) string {
	if label, ok := encodeLabel(value); ok {
		shown, _ := strictLabels.ToUnicode(label)
		return shown
	}
	if hasEncodedPrefix(value) {
		if shown, err := idna.Punycode.ToUnicode(strings.ToLower(value)); err == nil {
			value = shown
		}
	}
	text := trimLabel(replaceInLabel(value))
	if label, shown := fitLabel(text, ""); label != "" {
		return shown
	}
	_, shown := fitLabel(strings.Map(dropJoiner, text), "")
	return shown
}

// replaceInLabel replaces runs of characters that are not allowed by one hyphen. It drops
// apostrophes.
func replaceInLabel(value string) string {
	var b strings.Builder
	hyphen := false
	for _, r := range value {
		if r == '\'' || r == '’' {
			continue
		}
		if _, ok := mapRune(r); !ok || r == '-' {
			hyphen = true
			continue
		}
		if hyphen {
			b.WriteByte('-')
			hyphen = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// trimLabel removes what a label cannot start with. replaceInLabel leaves no hyphen at the
// end.
func trimLabel(text string) string {
	return strings.TrimLeftFunc(text, func(r rune) bool {
		return r == '-' || unicode.IsMark(r) || dropJoiner(r) < 0
	})
}

// fitLabel cuts the head until there is room for the tail. It returns the encoded and the
// decoded label. It returns nothing if the label is short enough and still invalid: cutting
// would not help.
func fitLabel(head, tail string) (label, shown string) {
	rest := firstRunes(head, maxLabel)
	for rest != "" {
		if label, ok := encodeLabel(rest + tail); ok {
			shown, _ := strictLabels.ToUnicode(label)
			return label, shown
		}
		label, _ := looseLabels.ToASCII(rest + tail)
		if len(rest) == len(head) && len(label) <= maxLabel {
			return "", ""
		}
		_, size := utf8.DecodeLastRuneInString(rest)
		rest = strings.TrimRight(rest[:len(rest)-size], "-")
	}
	return "", ""
}

// firstRunes returns the first n characters of a text. Each needs a byte of a label at least.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
