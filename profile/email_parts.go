package profile

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

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
	if parts, ok := splitQuoted(value); ok && utf8.ValidString(value) {
		return parts, nil
	}
	local, domain, _ := strings.Cut(value, "@")
	return emailParts{local: local, domain: domain, domainAt: len(local) + 1}, shapeProblem(value)
}

// splitQuoted splits an address whose local part is in quotes, and removes these. It reports
// false if the value does not begin with such a part and an @.
func splitQuoted(value string) (emailParts, bool) {
	if !strings.HasPrefix(value, `"`) {
		return emailParts{}, false
	}
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
	first, last := strings.IndexByte(value, '@'), strings.LastIndexByte(value, '@')
	angle, parenthesis := strings.IndexAny(value, "<>"), strings.IndexAny(value, "()")
	space := strings.IndexFunc(value, unicode.IsSpace)
	switch {
	case value == "":
		return refuse("empty", whole, "is empty")
	case !utf8.ValidString(value):
		return refuse("utf8", whole, "is not valid UTF-8")
	case hasPrefixFold(value, mailto):
		return refuse("mailto", 0, "is a link: enter the address only")
	case angle >= 0:
		return refuse("display_name", angle, "has more than an address: enter only the part between < and >")
	case parenthesis >= 0:
		return refuse("comment", parenthesis, "has a comment in parentheses")
	case first < 0:
		return refuse("no_at", whole, "has no @")
	case first != last:
		return refuse("many_at", first+1+strings.IndexByte(value[first+1:], '@'), "has more than one @")
	case space >= 0:
		return refuse("space", space, "has a space")
	case first == 0:
		return refuse("no_local", 0, "has nothing before the @")
	}
	return nil
}

// canonicalMailLocal returns a local part in Normalization Form C, and in lower case unless
// case counts. It reports false for one that is invalid without quotes.
func canonicalMailLocal(local string, caseSensitive bool) (string, bool) {
	for range 4 { // until nothing changes: the lower case of a letter may have another one
		canonical := norm.NFC.String(local)
		if !caseSensitive {
			canonical = norm.NFC.String(lowerText(canonical))
		}
		if canonical == local {
			return canonical, isDotAtom(canonical)
		}
		local = canonical
	}
	return "", false
}

// isDotAtom reports whether a text consists of words with single dots in between.
func isDotAtom(text string) bool {
	afterDot := true
	for _, r := range text {
		if r == '.' && afterDot || r != '.' && !isAtomText(r) {
			return false
		}
		afterDot = r == '.'
	}
	return !afterDot
}

// isAtomText reports whether a word of a local part may contain the character: RFC 5322's
// atext, and every visible character beyond ASCII.
func isAtomText(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	case r < utf8.RuneSelf:
		return r > 0 && strings.IndexByte("!#$%&'*+-/=?^_`{|}~", byte(r)) >= 0
	}
	return r != utf8.RuneError && unicode.IsGraphic(r) && !unicode.In(r, invisible...)
}

// invisible are characters that count as graphic but show nothing, including the Braille
// pattern without dots.
var invisible = []*unicode.RangeTable{
	unicode.White_Space, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point,
	rangeTable("2800"),
}

// staysAtomText is isAtomText after normalization, which turns the Greek question mark into
// a semicolon.
func staysAtomText(r rune) bool {
	for _, normal := range norm.NFC.String(string(r)) {
		if !isAtomText(normal) {
			return false
		}
	}
	return true
}

// mailLocalProblem returns why canonicalMailLocal refuses a local part.
func mailLocalProblem(parts emailParts) *dibs.Refusal {
	if parts.quoted {
		return refuse("quoted_local", 0, "has a quoted part that is not valid without its quotes")
	}
	local := parts.local
	for i, r := range local {
		switch {
		case r == ',':
			return refuse("comma", i, "has a comma")
		case r == '.' && i == 0:
			return refuse("dot_at_start", i, "begins with a dot")
		case r == '.' && i == len(local)-1:
			return refuse("dot_at_end", i, "has a dot right before the @")
		case r == '.' && local[i+1] == '.':
			return refuse("double_dot", i+1, "has two dots in a row")
		case r != '.' && !staysAtomText(r):
			return refuse("character", i, "has the character %q (%U), which an address cannot have", r, r)
		}
	}
	return refuse("character", 0, "has characters before the @ that an address cannot have")
}

const maxMailDomain = 253 // bytes of a domain, RFC 1035

// mailDomains maps domains as for a lookup: case, width and the like do not count.
var mailDomains = idna.New(idna.MapForLookup(), idna.BidiRule())

// canonicalMailDomain returns a domain as A-labels without a dot at the end. It reports false
// for an invalid one.
func canonicalMailDomain(domain string) (string, bool) {
	if r, size := utf8.DecodeLastRuneInString(domain); isMailDot(r) {
		domain = domain[:len(domain)-size]
	}
	canonical, err := mailDomains.ToASCII(domain)
	if err != nil || !isMailDomain(canonical) {
		return "", false
	}
	again, err := mailDomains.ToASCII(canonical)
	return canonical, err == nil && again == canonical
}

// isMailDot reports whether a character is a dot to IDNA.
func isMailDot(r rune) bool {
	return r == '.' || r == '\u3002' || r == '\uFF0E' || r == '\uFF61'
}

// isMailDomain reports whether an ASCII domain has two labels or more, of which the last is
// not a number.
func isMailDomain(domain string) bool {
	if len(domain) > maxMailDomain {
		return false
	}
	labels := 0
	for more := true; more; labels++ {
		var label string
		label, domain, more = strings.Cut(domain, ".")
		if !isMailLabel(label) || !more && isMailNumber(label) {
			return false
		}
	}
	return labels >= 2
}

// isMailLabel reports whether a label has letters and digits only, and hyphens inside.
func isMailLabel(label string) bool {
	for i := range len(label) {
		if !isMailLabelByte(label[i]) {
			return false
		}
	}
	return label != "" && len(label) <= maxLabel && label[0] != '-' && label[len(label)-1] != '-'
}

func isMailLabelByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '-'
}

func isMailNumber(label string) bool {
	return strings.Trim(label, "0123456789") == ""
}

// mailDomainProblem returns why canonicalMailDomain refuses a domain, which begins at the byte
// start of the value.
func mailDomainProblem(domain string, start int) *dibs.Refusal {
	if domain == "" {
		return refuse("no_domain", start-1, "has nothing after the @")
	}
	if _, err := netip.ParseAddr(domain); err == nil || strings.HasPrefix(domain, "[") {
		return refuse("ip_address", start, "has an IP address after the @ instead of a domain")
	}
	labels, at := 0, 0
	for rest := domain; rest != ""; labels++ {
		label, size := rest, len(rest)
		if dot := strings.IndexFunc(rest, isMailDot); dot >= 0 {
			_, width := utf8.DecodeRuneInString(rest[dot:])
			label, size = rest[:dot], dot+width
		}
		if refusal := mailLabelProblem(label, start+at); refusal != nil {
			return refusal
		}
		rest, at = rest[size:], at+size
	}
	canonical, _ := mailDomains.ToASCII(domain)
	switch {
	case labels < 2:
		return refuse("single_label", start, "has no dot in its domain")
	case len(canonical) > maxMailDomain:
		return refuse("domain_too_long", start, "has a domain of %d bytes, more than the %d allowed", len(canonical), maxMailDomain)
	case isMailNumber(canonical[strings.LastIndexByte(canonical, '.')+1:]):
		return refuse("numeric_domain", start, "has a domain that ends with a number")
	}
	return refuse("domain", start, "has a domain that does not follow the rules of IDNA")
}

// mailLabelProblem returns what is wrong with a single label, or nil.
func mailLabelProblem(label string, at int) *dibs.Refusal {
	if label == "" {
		return refuse("empty_label", at, "has two dots in a row, or one at the start, in its domain")
	}
	for i, r := range label {
		switch {
		case r == ',':
			return refuse("comma", at+i, "has a comma in its domain")
		case !isMailDomainRune(r):
			return refuse("domain_character", at+i, "has the character %q (%U) in its domain, which a domain cannot have", r, r)
		}
	}
	end := len(label) - 1
	switch canonical, err := mailDomains.ToASCII(label); {
	case label[0] == '-':
		return refuse("hyphen_at_start", at, "has a part of its domain that begins with a hyphen")
	case label[end] == '-':
		return refuse("hyphen_at_end", at+end, "has a part of its domain that ends with a hyphen")
	case err != nil:
		return refuse("domain_label", at, "has a part of its domain that does not follow the rules of IDNA")
	case len(canonical) > maxLabel:
		return refuse("label_too_long", at, "has a part of its domain with %d bytes, more than the %d allowed", len(canonical), maxLabel)
	}
	return nil
}

// isMailDomainRune reports whether a domain may contain the character. It tries the character
// after a letter, for marks, and alone, for right-to-left letters.
func isMailDomainRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isMailLabelByte(byte(r))
	}
	return accepts(mailDomains, "a"+string(r)) || accepts(mailDomains, string(r))
}
