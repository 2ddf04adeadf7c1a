package witness

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind int

const (
	other     kind = iota // words, numbers, operators, string literals, quoted names
	blank                 // spaces and comments
	parameter             // :name
	semicolon
	foreign // a placeholder of the database
)

var (
	errOpenText    = errors.New("a string or a quoted name in the query has no end: add the quote")
	errOpenComment = errors.New("a comment in the query has no end: add */")
	errNested      = errors.New("a comment in the query contains /*, which databases parse differently: remove it")
)

// nextToken returns the first token of a text that is not empty.
func nextToken(s string, dialect Dialect) (token string, k kind, err error) {
	first, size := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsSpace(first):
		return s[:size], blank, nil
	case strings.HasPrefix(s, "--"):
		return s[:lengthUntil(s, "\n")], blank, nil
	case strings.HasPrefix(s, "/*"):
		return comment(s)
	case strings.HasPrefix(s, "::"), strings.HasPrefix(s, ":="):
		return s[:2], other, nil
	case first == ':' && len(s) > 1 && isWordStart(s[1:]):
		return s[:1+wordLength(s[1:])], parameter, nil
	case first == ';':
		return s[:1], semicolon, nil
	case first == '\'', first == '"', first == '`' && dialect == SQLite:
		return quoted(s, 0, false)
	case first == '[' && dialect == SQLite:
		return bracketed(s)
	case first == '$':
		return dollar(s, dialect)
	case first == '?' && dialect == SQLite:
		return s[:1], foreign, nil
	case first == '@' && dialect == SQLite && isWordStart(s[1:]):
		return s[:1+wordLength(s[1:])], foreign, nil
	case isWordStart(s):
		return word(s, dialect)
	default:
		return s[:size], other, nil
	}
}

// lengthUntil returns the length up to the end of the first occurrence of what, or of all of s.
func lengthUntil(s, what string) int {
	before, _, found := strings.Cut(s, what)
	if !found {
		return len(s)
	}
	return len(before) + len(what)
}

func comment(s string) (string, kind, error) {
	inner, _, found := strings.Cut(s[2:], "*/")
	switch {
	case !found:
		return "", blank, errOpenComment
	case strings.Contains(inner, "/*"):
		return "", blank, errNested
	}
	return s[:len("/*")+len(inner)+len("*/")], blank, nil
}

// quoted returns a token with a quote at an offset. A doubled quote does not end it, and if
// backslashes escape, neither does a quote after a backslash.
func quoted(s string, at int, backslashes bool) (string, kind, error) {
	quote := s[at]
	for i := at + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && backslashes:
			i++
		case s[i] != quote:
		case i+1 < len(s) && s[i+1] == quote:
			i++
		default:
			return s[:i+1], other, nil
		}
	}
	return "", other, errOpenText
}

// bracketed returns a name in brackets, as SQLite has them.
func bracketed(s string) (string, kind, error) {
	if !strings.Contains(s, "]") {
		return "", other, errOpenText
	}
	return s[:lengthUntil(s, "]")], other, nil
}

// dollar returns a token that begins with a dollar: PostgreSQL's $tag$text$tag$, or a placeholder.
func dollar(s string, dialect Dialect) (string, kind, error) {
	tag := 1 + wordLength(s[1:])
	isText := dialect == PostgreSQL && tag < len(s) && s[tag] == '$' && (tag == 1 || isWordStart(s[1:]))
	switch {
	case isText:
		end := strings.Index(s[tag+1:], s[:tag+1])
		if end < 0 {
			return "", other, errOpenText
		}
		return s[:tag+1+end+tag+1], other, nil
	case tag > 1:
		return s[:tag], foreign, nil
	default:
		return s[:1], other, nil
	}
}

// word returns a word or a number, or PostgreSQL's E'…' string, in which backslashes escape.
func word(s string, dialect Dialect) (string, kind, error) {
	n := wordLength(s)
	if dialect == PostgreSQL && n == 1 && (s[0] == 'e' || s[0] == 'E') && len(s) > 1 && s[1] == '\'' {
		return quoted(s, 1, true)
	}
	if dialect == PostgreSQL {
		for n < len(s) && s[n] == '$' { // a word may contain dollars
			n++
			n += wordLength(s[n:])
		}
	}
	return s[:n], other, nil
}

func isWordStart(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '_' || unicode.IsLetter(r)
}

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func wordLength(s string) int {
	for i, r := range s {
		if !isWordRune(r) {
			return i
		}
	}
	return len(s)
}
