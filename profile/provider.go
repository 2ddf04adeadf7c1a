package profile

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Provider is what a mail provider does with addresses: which of them reach the same
// mailbox. The zero Provider has no domains, and so changes nothing.
type Provider struct {
	// Name stands for the rules in [Email.Name]: a short word in lower case. Rules
	// that change need a new one.
	Name string
	// Domains are those of the provider, in lower case and as A-labels. An address at
	// any other is left as it is.
	Domains []string
	// Canonical is the domain that stands for all of Domains, where the same local part
	// at any of them is the same mailbox. Empty means that it is not.
	Canonical string
	// IgnoreDots says that dots in the local part do not count.
	IgnoreDots bool
	// Separators are the characters each of which ends the name of the mailbox, as in
	// "alice+news". Empty means none.
	Separators string
}

// The providers that are known here, each with what it says of its own addresses.
var (
	// Gmail ignores dots and what follows "+". Its two domains are one.
	Gmail = Provider{
		Name: "gmail", Domains: []string{"gmail.com", "googlemail.com"}, Canonical: "gmail.com",
		IgnoreDots: true, Separators: "+",
	}
	// Outlook ignores what follows "+". Each of its domains has mailboxes of its own.
	Outlook = Provider{Name: "outlook", Domains: outlookDomains, Separators: "+"}
	// Icloud ignores what follows "+". Its three domains are one.
	Icloud = Provider{
		Name: "icloud", Domains: []string{"icloud.com", "me.com", "mac.com"}, Canonical: "icloud.com",
		Separators: "+",
	}
	// Yahoo ignores what follows "-", which no mailbox has in its name. Each of its
	// domains has mailboxes of its own.
	Yahoo = Provider{Name: "yahoo", Domains: yahooDomains, Separators: "-"}
	// Fastmail ignores what follows "+". Each of its domains has mailboxes of its own.
	Fastmail = Provider{Name: "fastmail", Domains: []string{"fastmail.com", "fastmail.fm"}, Separators: "+"}
	// Proton ignores dots and what follows "+". It does not promise that its domains
	// are one.
	Proton = Provider{
		Name: "proton", Domains: []string{"proton.me", "protonmail.com", "protonmail.ch", "pm.me"},
		IgnoreDots: true, Separators: "+",
	}
)

// KnownProviders are all of them.
var KnownProviders = []Provider{Gmail, Outlook, Icloud, Yahoo, Fastmail, Proton}

var outlookDomains = []string{
	"outlook.com", "hotmail.com", "live.com", "msn.com",
	"outlook.at", "outlook.be", "outlook.cl", "outlook.co.id", "outlook.co.il", "outlook.co.th",
	"outlook.com.ar", "outlook.com.au", "outlook.com.br", "outlook.com.gr", "outlook.com.tr",
	"outlook.com.vn", "outlook.cz", "outlook.de", "outlook.dk", "outlook.es", "outlook.fr",
	"outlook.hu", "outlook.ie", "outlook.in", "outlook.it", "outlook.jp", "outlook.kr",
	"outlook.lv", "outlook.my", "outlook.ph", "outlook.pt", "outlook.sa", "outlook.sg", "outlook.sk",
	"hotmail.be", "hotmail.ca", "hotmail.ch", "hotmail.co.jp", "hotmail.co.uk", "hotmail.com.ar",
	"hotmail.com.br", "hotmail.de", "hotmail.dk", "hotmail.es", "hotmail.fr", "hotmail.it",
	"hotmail.nl", "hotmail.no", "hotmail.se",
	"live.at", "live.be", "live.ca", "live.cl", "live.cn", "live.co.uk", "live.com.ar", "live.com.au",
	"live.com.mx", "live.com.pt", "live.de", "live.dk", "live.fr", "live.ie", "live.in", "live.it",
	"live.jp", "live.nl", "live.no", "live.ru", "live.se",
}

// Yahoo Japan is not among them: it is another company, with other rules.
var yahooDomains = []string{
	"yahoo.com", "ymail.com", "rocketmail.com", "myyahoo.com",
	"yahoo.at", "yahoo.be", "yahoo.ca", "yahoo.co.id", "yahoo.co.in", "yahoo.co.kr", "yahoo.co.nz",
	"yahoo.co.th", "yahoo.co.uk", "yahoo.co.za", "yahoo.com.ar", "yahoo.com.au", "yahoo.com.br",
	"yahoo.com.co", "yahoo.com.hk", "yahoo.com.mx", "yahoo.com.my", "yahoo.com.ph", "yahoo.com.sg",
	"yahoo.com.tr", "yahoo.com.tw", "yahoo.com.vn", "yahoo.cz", "yahoo.de", "yahoo.dk", "yahoo.es",
	"yahoo.fi", "yahoo.fr", "yahoo.gr", "yahoo.hu", "yahoo.ie", "yahoo.in", "yahoo.it", "yahoo.nl",
	"yahoo.no", "yahoo.pl", "yahoo.pt", "yahoo.ro", "yahoo.se",
}

// providerOf returns the first of the providers that has the domain, or nil.
func providerOf(providers []Provider, domain string) *Provider {
	for i := range providers {
		if slices.Contains(providers[i].Domains, domain) {
			return &providers[i]
		}
	}
	return nil
}

// apply returns the address that stands for all that reach the mailbox of this one, which
// has its @ at a byte. A local part of which nothing would be left stays as it is.
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

// dropDots joins the two parts of an address, without the dots of the first. It
// normalizes what comes out: a dot may have kept a letter and an accent apart.
func dropDots(local, domain string) string {
	var space [maxEmail]byte
	address := space[:0]
	for i := range len(local) {
		if local[i] != '.' {
			address = append(address, local[i])
		}
	}
	address = append(address, '@')
	address = append(address, domain...)
	return norm.NFC.String(string(address))
}
