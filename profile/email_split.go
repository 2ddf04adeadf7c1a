package profile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/calldibs/dibs"
)

// emailParts are the two sides of the @.
type emailParts struct {
	local    string // without quotes
	quoted   bool   // whether it had quotes
	domain   string
	domainAt int // the byte of the value at which the domain begins
}

const mailto = "mailto:"

// splitEmail splits an address at its @. It refuses a value that is more than an address, or
// less.
func splitEmail(value string) (emailParts, *dibs.Refusal) {
	switch {
	case value == "":
		return emailParts{}, refuse("empty", whole, "is empty")
	case !utf8.ValidString(value):
		return emailParts{}, refuse("utf8", whole, "is not valid UTF-8")
	case hasPrefixFold(value, mailto):
		return emailParts{}, refuse("mailto", 0, "is a link: enter the address only")
	case value[0] == '"':
		if parts, ok := splitQuoted(value); ok {
			return parts, nil
		}
	}
	if refusal := shapeProblem(value); refusal != nil {
		return emailParts{}, refusal
	}
	local, domain, _ := strings.Cut(value, "@")
	return emailParts{local: local, domain: domain, domainAt: len(local) + 1}, nil
}

// splitQuoted splits an address whose local part is in quotes, and removes these. It reports
// false if the value does not begin with such a part and an @.
func splitQuoted(value string) (emailParts, bool) {
	var local strings.Builder
	for i := 1; i < len(value); i++ {
		switch value[i] {
		case '"':
			if !strings.HasPrefix(value[i+1:], "@") {
				return emailParts{}, false
			}
			return emailParts{local: local.String(), quoted: true, domain: value[i+2:], domainAt: i + 2}, true
		case '\\':
			i++
		}
		if i < len(value) {
			local.WriteByte(value[i])
		}
	}
	return emailParts{}, false
}

// shapeProblem returns why a value is not two texts with an @ in between, or nil.
func shapeProblem(value string) *dibs.Refusal {
	if at := strings.IndexAny(value, "<>"); at >= 0 {
		return refuse("display_name", at, "has more than an address: enter only the part between < and >")
	}
	if at := strings.IndexAny(value, "()"); at >= 0 {
		return refuse("comment", at, "has a comment in parentheses")
	}
	first, last := strings.IndexByte(value, '@'), strings.LastIndexByte(value, '@')
	if first < 0 {
		return refuse("no_at", whole, "has no @")
	}
	if first != last {
		return refuse("many_at", first+1+strings.IndexByte(value[first+1:], '@'), "has more than one @")
	}
	if at := strings.IndexFunc(value, unicode.IsSpace); at >= 0 {
		return refuse("space", at, "has a space")
	}
	if first == 0 {
		return refuse("no_local", 0, "has nothing before the @")
	}
	return nil
}
