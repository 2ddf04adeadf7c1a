package profile

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// asciiPrefix begins a label of a host name that stands for one in other characters.
const asciiPrefix = "xn--"

// showLabels returns a name as people see it: the labels of a host name, or of an
// email's domain, that are in the ASCII form are decoded. One that cannot be is left
// as it is, as browsers do.
func showLabels(name string) string {
	local, domain := cutDomain(name)
	if !hasASCIIForm(domain) {
		return name
	}
	labels := strings.Split(domain, ".")
	for i, label := range labels {
		labels[i] = showLabel(label)
	}
	return local + strings.Join(labels, ".")
}

// showLabel decodes one label.
func showLabel(label string) string {
	if !isASCIIForm(label) {
		return label
	}
	shown, err := idna.Punycode.ToUnicode(strings.ToLower(label))
	if err != nil {
		return label
	}
	return shown
}

// cutDomain cuts a name behind its last @: the rest is a domain. Where there is none,
// all of it may be a host name.
func cutDomain(name string) (local, domain string) {
	at := strings.LastIndexByte(name, '@') + 1
	return name[:at], name[at:]
}

// hasASCIIForm reports whether a label of the domain is in the ASCII form.
func hasASCIIForm(domain string) bool {
	if !strings.Contains(domain, "--") {
		return false
	}
	for label := range strings.SplitSeq(domain, ".") {
		if isASCIIForm(label) {
			return true
		}
	}
	return false
}

func isASCIIForm(label string) bool {
	return len(label) > len(asciiPrefix) && onlyASCII(label) &&
		strings.EqualFold(label[:len(asciiPrefix)], asciiPrefix)
}

func onlyASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
