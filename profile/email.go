package profile

import (
	"strings"

	"github.com/calldibs/dibs"
)

const (
	maxEmail      = 254 // bytes of an address, RFC 5321 with erratum 1690
	maxEmailLocal = 64  // bytes of its local part
)

// Email is the profile for mail addresses: local@domain, as in RFC 5321 and RFC 6531.
// The canonical form has the local part in lower case and Normalization Form C, and the
// domain as A-labels. The zero Email is good.
type Email struct {
	// CaseSensitive keeps the case of local parts, so that Alice@ and alice@ are two
	// addresses. Hardly any mail server makes that difference.
	CaseSensitive bool
	// Providers are those whose rules decide which addresses are the same, such as
	// [Gmail] or [KnownProviders]. Where two have the same domain the first counts.
	// Nil means that no provider's rules do.
	Providers []Provider
}

var (
	_ dibs.Profile = Email{}
	_ dibs.Joiner  = Email{}
)

// Name returns "email/1", with ";case" where case counts, and the names of the
// providers.
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

// Join returns nothing: an address with a word appended is somebody else's.
func (Email) Join(_, _ string) string { return "" }

// Canonical returns the address that stands for all that are the same. What it refuses,
// it refuses with a [*dibs.Refusal].
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

// check is Canonical, but has nothing to try instead.
func (e Email) check(value string) (string, *dibs.Refusal) {
	address, refusal := e.plain(value)
	if refusal != nil {
		return "", refusal
	}
	return e.unify(address)
}

// plain makes an address canonical without the rules of providers.
func (e Email) plain(value string) (string, *dibs.Refusal) {
	if address, ok := e.asciiEmail(value); ok {
		return address, nil
	}
	return e.anyEmail(value)
}

// unify applies the rules of the address's provider. Those of one may lead to the domain
// of another, so it goes on until nothing changes.
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
			break // a provider whose canonical domain is none
		}
		address = unified
	}
	return "", refuse("provider_rules", whole, "", "has no canonical form by the rules of its provider")
}

// asciiEmail is anyEmail for plain addresses in ASCII. It reports false for all that it
// leaves to the other: what is to be refused, and what takes IDNA.
func (e Email) asciiEmail(value string) (canonical string, ok bool) {
	value = strings.TrimSuffix(value, ".")
	at := strings.IndexByte(value, '@')
	if at < 0 || at > maxEmailLocal || len(value) > maxEmail {
		return "", false
	}
	local, domain := value[:at], value[at+1:]
	if !isASCIIOnly(local) || !isDotAtom(local) || !isMailDomain(domain) || strings.Contains(domain, "--") {
		return "", false
	}
	if e.CaseSensitive {
		lower := strings.ToLower(domain)
		if lower == domain {
			return value, true
		}
		return value[:at+1] + lower, true
	}
	return strings.ToLower(value), true // which copies nothing where there is nothing to do
}

// anyEmail makes any address canonical, or says what is wrong with it.
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
		return "", refuse("local_too_long", whole, "", "has %d bytes before the @, more than the %d allowed", len(local), maxEmailLocal)
	}
	address := local + "@" + domain
	if len(address) > maxEmail {
		return "", refuse("too_long", whole, "", "has %d bytes, more than the %d allowed", len(address), maxEmail)
	}
	return address, nil
}
