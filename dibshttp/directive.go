package dibshttp

import (
	"slices"
	"strings"
)

// directive is one word of Cache-Control, such as max-age=60.
type directive struct {
	name  string // in lower case
	value string // as it was written, with quotes if it has them
}

type directives []directive

// parseDirectives reads the lines of Cache-Control. Where a quote does not end, others may
// read something else than we do: then nobody is to keep anything.
func parseDirectives(lines []string) (list directives) {
	words, whole := splitUnquoted(strings.Join(lines, ","))
	if !whole {
		return directives{{name: "no-store"}}
	}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
			list = append(list, directive{name, strings.TrimSpace(value)})
		}
	}
	return list
}

// splitUnquoted splits at commas that do not stand in quotes, and reports whether all
// quotes end.
func splitUnquoted(text string) (words []string, whole bool) {
	quoted, escaped := false, false
	words = strings.FieldsFunc(text, func(c rune) bool {
		switch {
		case escaped:
			escaped = false
		case c == '\\' && quoted:
			escaped = true
		case c == '"':
			quoted = !quoted
		default:
			return c == ',' && !quoted
		}
		return false
	})
	return words, !quoted
}

// has reports whether a directive is there without a list of fields that it is about,
// which would make it one about less.
func (d directives) has(name string) bool {
	for _, one := range d {
		if one.name == name && (one.value == "" || name == "max-age" || name == "s-maxage") {
			return true
		}
	}
	return false
}

// with returns the directives with one that has no value.
func (d directives) with(name string) directives {
	if d.has(name) {
		return d
	}
	return append(d, directive{name: name})
}

// without returns the directives without some.
func (d directives) without(names ...string) directives {
	return slices.DeleteFunc(d, func(one directive) bool { return slices.Contains(names, one.name) })
}

// String returns the directives as a header has them.
func (d directives) String() string {
	words := make([]string, len(d))
	for i, one := range d {
		words[i] = one.name
		if one.value != "" {
			words[i] += "=" + one.value
		}
	}
	return strings.Join(words, ", ")
}
