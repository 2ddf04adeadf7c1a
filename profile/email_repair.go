package profile

import (
	"net/url"
	"strings"
	"unicode"
)

// repairEmail returns the address that a refused value most likely means, or an empty
// string. The result may be refused as well.
func repairEmail(value string) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(value, ""), "\uFF20", "@")
	text = strings.TrimSpace(text)
	if hasQuotedLocal(text) {
		return ""
	}
	text = bareAddress(text)
	if hasQuotedLocal(text) {
		return ""
	}
	text = dropComments(text)
	if strings.Count(text, "@") > 1 {
		text = firstOfMany(text)
	}
	local, domain, ok := strings.Cut(text, "@")
	if !ok || strings.Contains(domain, "@") {
		return ""
	}
	return repairMailLocal(local) + "@" + repairMailDomain(domain)
}

// hasQuotedLocal reports whether an address has a local part in quotes. Without the quotes
// it is another mailbox, so there is nothing to try.
func hasQuotedLocal(text string) bool {
	if !strings.HasPrefix(text, `"`) {
		return false
	}
	_, ok := splitQuoted(text)
	return ok
}

// bareAddress removes "mailto:" with the query of such a link, and the name before "<".
func bareAddress(text string) string {
	if hasPrefixFold(text, mailto) {
		text, _, _ = strings.Cut(text[len(mailto):], "?")
		if plain, err := url.PathUnescape(text); err == nil {
			text = strings.ToValidUTF8(plain, "")
		}
	}
	if _, after, ok := strings.Cut(text, "<"); ok {
		text, _, _ = strings.Cut(after, ">")
	}
	return text
}

// dropComments removes comments in parentheses.
func dropComments(text string) string {
	var kept strings.Builder
	depth := 0
	for _, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth = max(depth-1, 0)
		case depth == 0:
			kept.WriteRune(r)
		}
	}
	return kept.String()
}

// firstOfMany returns the first of a list of addresses, with one @ for several in a row.
func firstOfMany(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return r == ',' || r == ';' || unicode.IsSpace(r)
	})
	for _, word := range words {
		if strings.Contains(word, "@") {
			text = word
			break
		}
	}
	for strings.Contains(text, "@@") {
		text = strings.ReplaceAll(text, "@@", "@")
	}
	return text
}

func repairMailLocal(local string) string {
	local = strings.Map(func(r rune) rune {
		switch {
		case r == '.' || r == ',':
			return '.'
		case staysAtomText(r):
			return r
		}
		return -1
	}, local)
	return joinMailWords(local, "")
}

func repairMailDomain(domain string) string {
	if end := strings.IndexAny(domain, "/?#:;"); end >= 0 {
		domain = domain[:end]
	}
	domain = strings.Map(func(r rune) rune {
		switch {
		case isMailDot(r) || r == ',':
			return '.'
		case r == '_':
			return '-'
		case isMailDomainRune(r):
			return r
		}
		return -1
	}, domain)
	return joinMailWords(domain, "-")
}

// joinMailWords trims the words between dots, and joins those that are not empty with single
// dots.
func joinMailWords(text, trim string) string {
	words := strings.Split(text, ".")
	kept := words[:0]
	for _, word := range words {
		if word = strings.Trim(word, trim); word != "" {
			kept = append(kept, word)
		}
	}
	return strings.Join(kept, ".")
}
