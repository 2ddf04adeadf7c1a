package dibshttp

import (
	"slices"
	"strings"
)

// directive is one directive of Cache-Control, such as max-age=60.
type directive struct {
	name  string // in lower case
	value string // as written, including quotes
}

type directives []directive

// parseDirectives reads the lines of Cache-Control. If a quote is not closed, caches may
// read the header in different ways: then it returns no-store.
func parseDirectives(lines []string) (list directives) {
	words, ok := splitUnquoted(strings.Join(lines, ","))
	if !ok {
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

// splitUnquoted splits at commas outside of quotes, and reports whether all quotes are
// closed.
func splitUnquoted(text string) (words []string, ok bool) {
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

// has reports whether a directive is present without a list of header fields, which would
// restrict it to these.
func (d directives) has(name string) bool {
	return slices.ContainsFunc(d, func(one directive) bool {
		return one.name == name && (one.value == "" || name == "max-age" || name == "s-maxage")
	})
}

// with returns the directives with one that has no value.
func (d directives) with(name string) directives {
	if d.has(name) {
		return d
	}
	return append(d, directive{name: name})
}

// without returns the directives without the named ones.
func (d directives) without(names ...string) directives {
	return slices.DeleteFunc(d, func(one directive) bool { return slices.Contains(names, one.name) })
}

// String returns the directives as the value of a header.
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
