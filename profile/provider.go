package profile

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Provider describes which addresses of a mail provider reach the same mailbox. The zero
// Provider has no domains, and so changes nothing.
type Provider struct {
	// Name identifies the rules in [Email.Name]: a short word in lower case. Changed rules
	// need a new name.
	Name string
	// Domains are the domains of the provider, in lower case and as A-labels. The rules apply
	// to their addresses only. Nil means none.
	Domains []string
	// Canonical is the domain that replaces each of Domains, if the same local part at any of
	// them is the same mailbox. Empty means that it is not.
	Canonical string
	// IgnoreDots says that dots in the local part do not count. False means that they do.
	IgnoreDots bool
	// Separators are characters that end the name of the mailbox, such as the + of
	// "alice+news". Empty means none.
	Separators string
}

// The known providers, with the rules that each publishes.
var (
	// Gmail ignores dots and what follows "+". Its two domains share mailboxes.
	Gmail = Provider{
		Name: "gmail", Domains: []string{"gmail.com", "googlemail.com"}, Canonical: "gmail.com",
		IgnoreDots: true, Separators: "+",
	}
	// Outlook ignores what follows "+". Each of its domains has its own mailboxes.
	Outlook = Provider{Name: "outlook", Domains: dataLines("domains-outlook.txt"), Separators: "+"}
	// Icloud ignores what follows "+". Its three domains share mailboxes.
	Icloud = Provider{
		Name: "icloud", Domains: []string{"icloud.com", "me.com", "mac.com"}, Canonical: "icloud.com",
		Separators: "+",
	}
	// Yahoo ignores what follows "-", which the name of a mailbox cannot contain. Each of its
	// domains has its own mailboxes.
	Yahoo = Provider{Name: "yahoo", Domains: dataLines("domains-yahoo.txt"), Separators: "-"}
	// Fastmail ignores what follows "+". Each of its domains has its own mailboxes.
	Fastmail = Provider{Name: "fastmail", Domains: []string{"fastmail.com", "fastmail.fm"}, Separators: "+"}
	// Proton ignores dots and what follows "+". It does not promise that its domains share
	// mailboxes.
	Proton = Provider{
		Name: "proton", Domains: []string{"proton.me", "protonmail.com", "protonmail.ch", "pm.me"},
		IgnoreDots: true, Separators: "+",
	}
)

// KnownProviders are all providers of this package.
var KnownProviders = []Provider{Gmail, Outlook, Icloud, Yahoo, Fastmail, Proton}

// providerOf returns the first provider with the domain, or nil.
func providerOf(providers []Provider, domain string) *Provider {
	for i := range providers {
		if slices.Contains(providers[i].Domains, domain) {
			return &providers[i]
		}
	}
	return nil
}

// apply returns the canonical address of the mailbox of an address, whose @ is at a byte. A
// local part of which nothing would be left stays as it is.
func (p *Provider) apply(address string, at int) string {
	local, domain := address[:at], address[at+1:]
	if p.Canonical != "" {
		domain = p.Canonical
	}
	if i := strings.IndexAny(local, p.Separators); i > 0 {
		local = strings.TrimRight(local[:i], ".")
	}
	if p.IgnoreDots && strings.Contains(local, ".") {
		return dropDots(local, domain)
	}
	if len(local) == at && domain == address[at+1:] {
		return address
	}
	return local + "@" + domain
}

// dropDots joins the two parts of an address, without the dots of the first. It normalizes
// the result: a dot may have separated a letter from an accent.
func dropDots(local, domain string) string {
	address := make([]byte, 0, maxEmail)
	for i := range len(local) {
		if local[i] != '.' {
			address = append(address, local[i])
		}
	}
	address = append(append(address, '@'), domain...)
	return norm.NFC.String(string(address))
}
