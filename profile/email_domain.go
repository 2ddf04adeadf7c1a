package profile

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/calldibs/dibs"
)

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
	if labels < 2 {
		return refuse("single_label", start, "has no dot in its domain")
	}
	canonical, _ := mailDomains.ToASCII(domain)
	if len(canonical) > maxMailDomain {
		return refuse("domain_too_long", start, "has a domain of %d bytes, more than the %d allowed", len(canonical), maxMailDomain)
	}
	if isMailNumber(canonical[strings.LastIndexByte(canonical, '.')+1:]) {
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
	if label[0] == '-' {
		return refuse("hyphen_at_start", at, "has a part of its domain that begins with a hyphen")
	}
	if end := len(label) - 1; label[end] == '-' {
		return refuse("hyphen_at_end", at+end, "has a part of its domain that ends with a hyphen")
	}
	canonical, err := mailDomains.ToASCII(label)
	if err != nil {
		return refuse("domain_label", at, "has a part of its domain that does not follow the rules of IDNA")
	}
	if len(canonical) > maxLabel {
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
