package profile

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/calldibs/dibs"
)

const (
	maxEmail      = 254 // bytes of an address, RFC 5321 with erratum 1690
	maxEmailLocal = 64  // bytes of its local part
)

// Email is the profile for mail addresses: local@domain, as in RFC 5321 and RFC 6531.
// The canonical form has the local part in lower case and Normalization Form C, and the
// domain as A-labels. The zero Email is ready to use.
type Email struct {
	// CaseSensitive keeps the case of local parts, so that Alice@ and alice@ are two
	// addresses. Hardly any mail server distinguishes them. False means that case does not
	// count.
	CaseSensitive bool
	// Providers are the mail providers whose rules apply, such as [Gmail] or
	// [KnownProviders]. If two have the same domain the first applies. Nil means none.
	Providers []Provider
}

var (
	_ dibs.Profile = Email{}
	_ dibs.Joiner  = Email{}
)

// Name returns "email/1", with ";case" if case counts, and the names of the providers.
func (e Email) Name() string {
	parts := []string{"email/1"}
	if e.CaseSensitive {
		parts = append(parts, "case")
	}
	for i := range e.Providers {
		parts = append(parts, e.Providers[i].Name)
	}
	return strings.Join(parts, ";")
}

// Join returns an empty string: an address with a word appended is another mailbox.
func (Email) Join(_, _ string) string { return "" }

// Canonical returns the canonical form of an address. Its errors are [*dibs.Refusal].
func (e Email) Canonical(value string) (string, error) {
	canonical, refusal := e.check(value)
	if refusal == nil {
		return canonical, nil
	}
	if try := repairEmail(value); try != "" {
		if _, again := e.check(try); again == nil {
			refusal.Try = try
		}
	}
	return "", refusal
}

// check is Canonical without Refusal.Try.
func (e Email) check(value string) (string, *dibs.Refusal) {
	address, refusal := e.plain(value)
	if refusal != nil {
		return "", refusal
	}
	return e.unify(address)
}

// plain returns the canonical form without the rules of providers.
func (e Email) plain(value string) (string, *dibs.Refusal) {
	if address, ok := e.asciiEmail(value); ok {
		return address, nil
	}
	return e.anyEmail(value)
}

// unify applies the rules of the address's provider until nothing changes: they may lead to
// the domain of another provider.
func (e Email) unify(address string) (string, *dibs.Refusal) {
	for range 4 {
		at := strings.LastIndexByte(address, '@')
		provider := providerOf(e.Providers, address[at+1:])
		if provider == nil {
			return address, nil
		}
		unified := provider.apply(address, at)
		if unified == address {
			return address, nil
		}
		if again, refusal := e.plain(unified); refusal != nil || again != unified {
			break // the provider's canonical domain is invalid
		}
		address = unified
	}
	return "", refuse("provider_rules", whole, "has no canonical form by the rules of its provider")
}

// asciiEmail is the fast path of anyEmail, for ASCII. It reports false for addresses that
// are to be refused, or that need IDNA.
func (e Email) asciiEmail(value string) (canonical string, ok bool) {
	value = strings.TrimSuffix(value, ".")
	at := strings.IndexByte(value, '@')
	if at < 0 || at > maxEmailLocal || len(value) > maxEmail {
		return "", false
	}
	local, domain := value[:at], value[at+1:]
	if !isASCII(local) || !isDotAtom(local) || !isMailDomain(domain) || strings.Contains(domain, "--") {
		return "", false
	}
	if !e.CaseSensitive {
		return strings.ToLower(value), true // without a copy if nothing changes
	}
	if lower := strings.ToLower(domain); lower != domain {
		value = value[:at+1] + lower
	}
	return value, true
}

// anyEmail returns the canonical form of any address, or what is wrong with it.
func (e Email) anyEmail(value string) (string, *dibs.Refusal) {
	parts, refusal := splitEmail(value)
	if refusal != nil {
		return "", refusal
	}
	local, ok := canonicalMailLocal(parts.local, e.CaseSensitive)
	if !ok {
		return "", mailLocalProblem(parts)
	}
	domain, ok := canonicalMailDomain(parts.domain)
	if !ok {
		return "", mailDomainProblem(parts.domain, parts.domainAt)
	}
	if len(local) > maxEmailLocal {
		return "", refuse("local_too_long", whole, "has %d bytes before the @, more than the %d allowed", len(local), maxEmailLocal)
	}
	address := local + "@" + domain
	if len(address) > maxEmail {
		return "", refuse("too_long", whole, "has %d bytes, more than the %d allowed", len(address), maxEmail)
	}
	return address, nil
}

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
	text = words[slices.IndexFunc(words, func(word string) bool { return strings.Contains(word, "@") })]
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
