package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// repairLabel returns the label that was probably meant, as people read it, or nothing.
// It is always accepted.
func repairLabel(value string) string {
	if label, ok := encodeLabel(value); ok {
		shown, _ := strictLabels.ToUnicode(label)
		return shown
	}
	if isEncoded(value) {
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

// replaceInLabel puts one hyphen where there are characters that cannot be in a label,
// except for apostrophes, which are left out.
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

// trimLabel takes away what a label cannot start with. replaceInLabel leaves no hyphen
// at the end.
func trimLabel(text string) string {
	return strings.TrimLeftFunc(text, func(r rune) bool {
		return r == '-' || unicode.IsMark(r) || dropJoiner(r) < 0
	})
}

// fitLabel cuts the head until there is room for the tail. It returns the label, and
// how people read it. What is short enough and still no label stays none: cutting is
// no way to make one.
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

// firstRunes returns at most n characters of a text: each takes a byte of a label.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
