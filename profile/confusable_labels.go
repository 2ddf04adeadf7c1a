package profile

import (
	"strings"

	"golang.org/x/net/idna"
)

// encodedPrefix begins an encoded label: the ASCII form of one in other characters.
const encodedPrefix = "xn--"

// hasEncodedPrefix reports whether a label claims to be an encoded one.
func hasEncodedPrefix(label string) bool { return hasPrefixFold(label, encodedPrefix) }

// isEncoded reports whether a label is in the form of an encoded one.
func isEncoded(label string) bool {
	return hasEncodedPrefix(label) && len(label) > len(encodedPrefix) && isASCII(label)
}

// hasEncodedLabel reports whether a label of the domain is encoded.
func hasEncodedLabel(domain string) bool {
	if !strings.Contains(domain, "--") {
		return false
	}
	for label := range strings.SplitSeq(domain, ".") {
		if isEncoded(label) {
			return true
		}
	}
	return false
}

// showLabels returns a name as people see it: with the labels of a host name, or of an
// email's domain, decoded. Like browsers, it leaves labels that are not valid.
func showLabels(name string) string {
	local, domain := cutDomain(name)
	if !hasEncodedLabel(domain) {
		return name
	}
	labels := strings.Split(domain, ".")
	for i, label := range labels {
		labels[i] = showLabel(label)
	}
	return local + strings.Join(labels, ".")
}

// showLabel decodes a label.
func showLabel(label string) string {
	if isEncoded(label) {
		if shown, err := idna.Punycode.ToUnicode(strings.ToLower(label)); err == nil {
			return shown
		}
	}
	return label
}

// cutDomain cuts a name after its last @: the rest is a domain. Without an @ the whole name
// may be a host name.
func cutDomain(name string) (local, domain string) {
	at := strings.LastIndexByte(name, '@') + 1
	return name[:at], name[at:]
}
