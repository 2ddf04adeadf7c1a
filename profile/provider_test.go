package profile_test

import (
	"slices"
	"testing"

	"github.com/calldibs/dibs/profile"
)

func TestProviderRules(t *testing.T) {
	t.Parallel()
	known := profile.Email{Providers: profile.KnownProviders}
	for _, test := range []struct{ value, want string }{
		{"A.Lice+News@GoogleMail.com", "alice@gmail.com"},
		{"alice@gmail.com", "alice@gmail.com"},
		{"a.l.i.c.e@gmail.com", "alice@gmail.com"},
		{"alice+@gmail.com", "alice@gmail.com"},
		{"alice+a+b@gmail.com", "alice@gmail.com"},
		{"alice.+x@gmail.com", "alice@gmail.com"},
		{"alice-x@gmail.com", "alice-x@gmail.com"},
		{"+x@gmail.com", "+x@gmail.com"}, // otherwise empty
		{"+x.y+z@gmail.com", "+xy+z@gmail.com"},
		{"a.\u0301b@gmail.com", "áb@gmail.com"},
		{`"a.lice"@gmail.com.`, "alice@gmail.com"},

		{"Alice+x@Outlook.com", "alice@outlook.com"},
		{"a.lice@hotmail.com", "a.lice@hotmail.com"},
		{"alice.+x@live.com", "alice@live.com"},
		{"alice+x@hotmail.co.uk", "alice@hotmail.co.uk"},

		{"alice+x@me.com", "alice@icloud.com"},
		{"alice@mac.com", "alice@icloud.com"},
		{"a.lice@icloud.com", "a.lice@icloud.com"},

		{"alice-shop@yahoo.com", "alice@yahoo.com"},
		{"alice+shop@yahoo.com", "alice+shop@yahoo.com"},
		{"alice-shop@ymail.com", "alice@ymail.com"},
		{"-shop@yahoo.de", "-shop@yahoo.de"},
		{"alice-shop@yahoo.co.jp", "alice-shop@yahoo.co.jp"},

		{"alice+x@fastmail.com", "alice@fastmail.com"},
		{"alice+x@fastmail.fm", "alice@fastmail.fm"},

		{"a.lice+x@proton.me", "alice@proton.me"},
		{"alice@protonmail.com", "alice@protonmail.com"},
		{"alice+x@pm.me", "alice@pm.me"},

		{"a.lice+x@example.com", "a.lice+x@example.com"},
		{"a.lice+x@mail.gmail.com", "a.lice+x@mail.gmail.com"},
	} {
		if got := wantContract(t, known, test.value); got != test.want {
			t.Errorf("%q becomes %q, want %q", test.value, got, test.want)
		}
	}
}

func TestOnlyConfiguredProvidersApply(t *testing.T) {
	t.Parallel()
	e := profile.Email{Providers: []profile.Provider{profile.Gmail}}
	for value, want := range map[string]string{
		"a.b+c@gmail.com":   "ab@gmail.com",
		"a.b+c@outlook.com": "a.b+c@outlook.com",
	} {
		if got := wantContract(t, e, value); got != want {
			t.Errorf("%q becomes %q, want %q", value, got, want)
		}
	}
}

func TestCaseSensitiveWithProvider(t *testing.T) {
	t.Parallel()
	e := profile.Email{CaseSensitive: true, Providers: []profile.Provider{profile.Gmail}}
	if got := wantContract(t, e, "A.Lice+x@GoogleMail.com"); got != "ALice@gmail.com" {
		t.Errorf("got %q", got)
	}
}

// The known providers have each domain once, in its canonical form, and their canonical
// domain is one of their own.
func TestKnownProvidersAreConsistent(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, p := range profile.KnownProviders {
		if p.Name == "" || seen[p.Name] != "" {
			t.Errorf("the name %q is empty or a duplicate", p.Name)
		}
		seen[p.Name] = p.Name
		if p.Canonical != "" && !slices.Contains(p.Domains, p.Canonical) {
			t.Errorf("%s: %s is not among its domains", p.Name, p.Canonical)
		}
		for _, domain := range p.Domains {
			if seen[domain] != "" {
				t.Errorf("%s is in %s and in %s", domain, p.Name, seen[domain])
			}
			seen[domain] = p.Name
			if got, err := (profile.Email{}).Canonical("a@" + domain); err != nil || got != "a@"+domain {
				t.Errorf("%s: a@%s becomes %q, %v", p.Name, domain, got, err)
			}
		}
	}
}

// Custom rules may be invalid. They are never applied in part.
func TestInvalidProviders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what      string
		providers []profile.Provider
		value     string
		want      string // empty for a refusal
	}{
		{"no domains", []profile.Provider{{Name: "x", IgnoreDots: true}}, "a.b@x.com", "a.b@x.com"},
		{"a chain", []profile.Provider{
			{Name: "x", Domains: []string{"x.com"}, Canonical: "googlemail.com"}, profile.Gmail,
		}, "a.b+c@x.com", "ab@gmail.com"},
		{"a circle", []profile.Provider{
			{Name: "x", Domains: []string{"x.com"}, Canonical: "y.com"},
			{Name: "y", Domains: []string{"y.com"}, Canonical: "x.com"},
		}, "a@x.com", ""},
		{"a canonical domain that is none", []profile.Provider{
			{Name: "x", Domains: []string{"x.com"}, Canonical: "no domain"},
		}, "a@x.com", ""},
		{"a canonical domain in capitals", []profile.Provider{
			{Name: "x", Domains: []string{"x.com"}, Canonical: "X.com"},
		}, "a@x.com", ""},
		{"a dot that separates", []profile.Provider{
			{Name: "x", Domains: []string{"x.com"}, Separators: ".+"},
		}, "a.b+c@x.com", "a@x.com"},
		{"two with a domain", []profile.Provider{
			{Name: "x", Domains: []string{"x.com"}, Separators: "+"},
			{Name: "y", Domains: []string{"x.com"}, Separators: "-"},
		}, "a-b+c@x.com", "a-b@x.com"},
	} {
		e := profile.Email{Providers: test.providers}
		if test.want == "" {
			wantRefusal(t, e, test.value, "provider_rules", -1, "")
		} else if got := wantContract(t, e, test.value); got != test.want {
			t.Errorf("%s: %q becomes %q, want %q", test.what, test.value, got, test.want)
		}
	}
}
