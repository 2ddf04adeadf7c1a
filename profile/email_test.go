package profile_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/calldibs/dibs/profile"
)

func TestEmailCanonical(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ value, want string }{
		{"alice@example.com", "alice@example.com"},
		{"Alice@Example.COM", "alice@example.com"},
		{"a@b.co", "a@b.co"},
		{"alice.b.smith@example.com", "alice.b.smith@example.com"},
		{"alice+news@example.com", "alice+news@example.com"},
		{"a.l+x@gmail.com", "a.l+x@gmail.com"}, // without rules of providers
		{"o'brien@example.ie", "o'brien@example.ie"},
		{"!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com"},
		{"_@example.com", "_@example.com"},
		{"-@example.com", "-@example.com"},
		{"123@456.example", "123@456.example"},
		{"alice@mail.example.co.uk", "alice@mail.example.co.uk"},
		{"alice@ex-ample.com", "alice@ex-ample.com"},
		{"alice@1.example", "alice@1.example"},
		{"alice@example.com.", "alice@example.com"},
		{"Alice@Example.com.", "alice@example.com"},
		{"alice@example.c0m", "alice@example.c0m"},

		// Redundant quotes.
		{`"alice"@example.com`, "alice@example.com"},
		{`"Alice.Smith"@example.com`, "alice.smith@example.com"},
		{`"al\ice"@example.com`, "alice@example.com"},
		{`"münchen"@example.com`, "münchen@example.com"},

		// Domains beyond ASCII.
		{"alice@bücher.example", "alice@xn--bcher-kva.example"},
		{"alice@BÜCHER.example", "alice@xn--bcher-kva.example"},
		{"alice@bu\u0308cher.example", "alice@xn--bcher-kva.example"},
		{"alice@xn--bcher-kva.example", "alice@xn--bcher-kva.example"},
		{"alice@XN--BCHER-KVA.example", "alice@xn--bcher-kva.example"},
		{"alice@例え.テスト", "alice@xn--r8jz45g.xn--zckzah"},
		{"alice@例え。テスト", "alice@xn--r8jz45g.xn--zckzah"},
		{"alice@例え.テスト。", "alice@xn--r8jz45g.xn--zckzah"},
		{"alice@müller.de", "alice@xn--mller-kva.de"},
		{"alice@straße.de", "alice@xn--strae-oqa.de"},
		{"alice@ｅｘａｍｐｌｅ．ｃｏｍ", "alice@example.com"},
		{"alice@exam\u00ADple.com", "alice@example.com"}, // a soft hyphen is invisible
		{"alice@שלום.קום", "alice@xn--9dbne9b.xn--9dbq2a"},
		{"alice@مثال.إختبار", "alice@xn--mgbh0fb.xn--kgbechtv"},
		{"alice@пример.испытание", "alice@xn--e1afmkfd.xn--80akhbyknj4f"},

		// Local parts beyond ASCII.
		{"用户@example.com", "用户@example.com"},
		{"Müller@example.com", "müller@example.com"},
		{"mu\u0308ller@example.com", "müller@example.com"},
		{"ΣΊΣΥΦΟΣ@example.gr", "σίσυφοσ@example.gr"},
		{"अजय@डाटा.भारत", "अजय@xn--c2bd1gb.xn--h2brj9c"},
		{"квіточка@пошта.укр", "квіточка@xn--80a1acn3a.xn--j1amh"},
		{"dörte@sörensen.example.com", "dörte@xn--srensen-90a.example.com"},
		{"😀@example.com", "😀@example.com"},

		// Of the maximum length.
		{strings.Repeat("a", 64) + "@example.com", strings.Repeat("a", 64) + "@example.com"},
		{"a@" + strings.Repeat("b", 63) + ".com", "a@" + strings.Repeat("b", 63) + ".com"},
		{longEmail(254), longEmail(254)},
		{strings.Repeat("u\u0308", 32) + "@example.com", strings.Repeat("ü", 32) + "@example.com"},
	} {
		got, err := profile.Email{}.Canonical(test.value)
		if err != nil || got != test.want {
			t.Errorf("Canonical(%q) = %q, %v, want %q", test.value, got, err, test.want)
		}
		if got := wantContract(t, profile.Email{}, test.value); got != test.want {
			t.Errorf("%q becomes %q", test.value, got)
		}
	}
}

// longEmail returns an address with a number of bytes.
func longEmail(bytes int) string {
	label := strings.Repeat("d", 61) + "."
	address := strings.Repeat("l", 60) + "@" + label + label + label
	return address + strings.Repeat("e", bytes-len(address))
}

func TestEmailRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value, rule string
		at          int
		try         string
	}{
		// More than an address.
		{"Alice <alice@example.com>", "display_name", 6, "alice@example.com"},
		{`"Alice Smith" <alice@example.com>`, "display_name", 14, "alice@example.com"},
		{"<alice@example.com>", "display_name", 0, "alice@example.com"},
		{"Alice <alice@example,com>", "display_name", 6, "alice@example.com"},
		{"alice@example.com>", "display_name", 17, "alice@example.com"},
		{"mailto:alice@example.com", "mailto", 0, "alice@example.com"},
		{"MAILTO:alice@example.com?subject=Hi", "mailto", 0, "alice@example.com"},
		{"mailto:alice%2Bnews@example.com", "mailto", 0, "alice+news@example.com"},
		{"alice@example.com (work)", "comment", 18, "alice@example.com"},
		{"alice(work)@example.com", "comment", 5, "alice@example.com"},
		{"alice@example.com, bob@example.com", "many_at", 22, "alice@example.com"},
		{"alice@example.com;bob@example.com", "many_at", 21, "alice@example.com"},
		{`"alice@example.com"`, "character", 0, "alice@example.com"},

		// The @.
		{"", "empty", -1, ""},
		{"alice", "no_at", -1, ""},
		{"example.com", "no_at", -1, ""},
		{"alice＠example.com", "no_at", -1, "alice@example.com"},
		{"alice@@example.com", "many_at", 6, "alice@example.com"},
		{"alice@bob@example.com", "many_at", 9, ""},
		{"@example.com", "no_local", 0, ""},
		{"alice@", "no_domain", 5, ""},
		{"@", "no_local", 0, ""},

		// Spaces.
		{" alice@example.com", "space", 0, "alice@example.com"},
		{"alice@example.com ", "space", 17, "alice@example.com"},
		{"alice smith@example.com", "space", 5, "alicesmith@example.com"},
		{"alice @example.com", "space", 5, "alice@example.com"},
		{"alice@ example.com", "space", 6, "alice@example.com"},
		{"alice@example .com", "space", 13, "alice@example.com"},
		{"alice\u00A0@example.com", "space", 5, "alice@example.com"},
		{"alice@example.com\n", "space", 17, "alice@example.com"},

		// Dots and commas.
		{".alice@example.com", "dot_at_start", 0, "alice@example.com"},
		{"alice.@example.com", "dot_at_end", 5, "alice@example.com"},
		{"alice..smith@example.com", "double_dot", 6, "alice.smith@example.com"},
		{".@example.com", "dot_at_start", 0, ""},
		{"alice@example,com", "comma", 13, "alice@example.com"},
		{"alice,smith@example.com", "comma", 5, "alice.smith@example.com"},
		{"alice@example..com", "empty_label", 14, "alice@example.com"},
		{"alice@.example.com", "empty_label", 6, "alice@example.com"},
		{"alice@example.com..", "empty_label", 18, "alice@example.com"},
		{"alice@.", "empty_label", 6, ""},

		// Characters of the local part.
		{"alice;@example.com", "character", 5, "alice@example.com"},
		{"al[ice]@example.com", "character", 2, "alice@example.com"},
		{`al\ice@example.com`, "character", 2, "alice@example.com"},
		{`al"ice"@example.com`, "character", 2, "alice@example.com"},
		{"alice:@example.com", "character", 5, "alice@example.com"},
		{"al\u200Bice@example.com", "character", 2, "alice@example.com"},
		{"al\u202Eice@example.com", "character", 2, "alice@example.com"},
		{"al\u037Eice@example.com", "character", 2, "alice@example.com"}, // becomes a semicolon
		{"alice\uFE0F@example.com", "character", 5, "alice@example.com"}, // a variation selector
		{"alice\u3164@example.com", "character", 5, "alice@example.com"}, // a filler
		{"a" + strings.Repeat("\u0301", 31) + "@example.com", "character", 0, ""},
		{"al\x00ice@example.com", "character", 2, "alice@example.com"},
		{"al\x7Fice@example.com", "character", 2, "alice@example.com"},
		{"al\uE000@example.com", "character", 2, "al@example.com"},
		{"al\xFFice@example.com", "utf8", -1, "alice@example.com"},

		// Necessary quotes.
		{`"alice smith"@example.com`, "quoted_local", 0, ""},
		{`"alice@home"@example.com`, "quoted_local", 0, ""},
		{`"alice..smith"@example.com`, "quoted_local", 0, ""},
		{`"a<b>"@example.com`, "quoted_local", 0, ""},
		{`"\""@example.com`, "quoted_local", 0, ""},
		{`""@example.com`, "quoted_local", 0, ""},
		{`"alice"@`, "no_domain", 7, ""},

		// Domains.
		{"alice@localhost", "single_label", 6, ""},
		{"alice@example.", "single_label", 6, ""},
		{"alice@[192.0.2.1]", "ip_address", 6, ""},
		{"alice@[IPv6:2001:db8::1]", "ip_address", 6, ""},
		{"alice@192.0.2.1", "ip_address", 6, ""},
		{"alice@2001:db8::1", "ip_address", 6, ""},
		{"alice@example.123", "numeric_domain", 6, ""},
		{"alice@-example.com", "hyphen_at_start", 6, "alice@example.com"},
		{"alice@example-.com", "hyphen_at_end", 13, "alice@example.com"},
		{"alice@my_company.com", "domain_character", 8, "alice@my-company.com"},
		{"alice@example.com/", "domain_character", 17, "alice@example.com"},
		{"alice@example.com:25", "domain_character", 17, "alice@example.com"},
		{"alice@exam!ple.com", "domain_character", 10, "alice@example.com"},
		{"alice@ex\u202Eample.com", "domain_character", 8, "alice@example.com"},
		{"alice@ab--cd.com", "domain_label", 6, ""},
		{"alice@xn--a.com", "domain_label", 6, ""},
		{"alice@\u0301a.com", "domain_label", 6, ""},
		{"alice@aש.com", "domain_label", 6, ""},
		{"alice@1a.שלום", "domain", 6, ""},

		// Too long.
		{strings.Repeat("a", 65) + "@example.com", "local_too_long", -1, ""},
		{strings.Repeat("ü", 33) + "@example.com", "local_too_long", -1, ""},
		{"a@" + strings.Repeat("b", 64) + ".com", "label_too_long", 2, ""},
		{"a@" + strings.Repeat("ü", 60) + ".com", "label_too_long", 2, ""},
		{longEmail(255), "too_long", -1, ""},
		{"a@" + strings.Repeat("example.", 31) + "museum", "domain_too_long", 2, ""},
	} {
		wantRefusal(t, profile.Email{}, test.value, test.rule, test.at, test.try)
		wantContract(t, profile.Email{}, test.value)
	}
}

func TestEmailCaseSensitive(t *testing.T) {
	t.Parallel()
	e := profile.Email{CaseSensitive: true}
	for value, want := range map[string]string{
		"Alice@Example.COM":        "Alice@example.com",
		"Alice@example.com":        "Alice@example.com",
		"alice@example.com":        "alice@example.com",
		"MU\u0308LLER@bücher.de":   "MÜLLER@xn--bcher-kva.de",
		`"Alice"@EXAMPLE.com.`:     "Alice@example.com",
		"\u212Belvin@example.com.": "Åelvin@example.com",
	} {
		if got := wantContract(t, e, value); got != want {
			t.Errorf("%q becomes %q, want %q", value, got, want)
		}
	}
}

func TestEmailName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		email profile.Email
		want  string
	}{
		{profile.Email{}, "email/1"},
		{profile.Email{CaseSensitive: true}, "email/1;case"},
		{profile.Email{Providers: []profile.Provider{profile.Gmail, profile.Outlook}}, "email/1;gmail;outlook"},
		{profile.Email{CaseSensitive: true, Providers: profile.KnownProviders}, "email/1;case;gmail;outlook;icloud;yahoo;fastmail;proton"},
	} {
		if got := test.email.Name(); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

func TestEmailJoin(t *testing.T) {
	t.Parallel()
	if got := (profile.Email{}).Join("alice@example.com", "2"); got != "" {
		t.Errorf("Join = %q, want an empty string", got)
	}
}

func TestEmailAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, pools lose what they have")
	}
	known := profile.Email{Providers: profile.KnownProviders}
	for _, test := range []struct {
		email profile.Email
		value string
		most  float64
	}{
		{profile.Email{}, "alice.smith@example.com", 0},
		{profile.Email{}, "alice.smith@example.com.", 0},
		{profile.Email{}, "Alice.Smith@Example.com", 1},
		{profile.Email{CaseSensitive: true}, "Alice.Smith@example.com", 0},
		{profile.Email{CaseSensitive: true}, "Alice.Smith@Example.com", 2},
		{known, "alice.smith@example.com", 0},
		{known, "alicesmith@gmail.com", 0},
		{known, "Alice.Smith+news@GoogleMail.com", 2},
		{known, "Alice+news@outlook.com", 2},
	} {
		allocs := testing.AllocsPerRun(100, func() {
			if _, err := test.email.Canonical(test.value); err != nil {
				t.Error(err)
			}
		})
		if allocs > test.most {
			t.Errorf("%s: %q: %v allocations, want at most %v", test.email.Name(), test.value, allocs, test.most)
		}
	}
}

func BenchmarkCanonicalEmail(b *testing.B) {
	known := profile.Email{Providers: profile.KnownProviders}
	for _, bench := range []struct {
		name, value string
		email       profile.Email
	}{
		{"canonical", "alice.smith@example.com", profile.Email{}},
		{"ascii", "Alice.Smith@Example.com", profile.Email{}},
		{"provider", "Alice.Smith+news@GoogleMail.com", known},
		{"no-provider", "alice.smith@example.com", known},
		{"unicode", "müller@bücher.example", profile.Email{}},
		{"refused", "Alice <alice@example,com>", profile.Email{}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = bench.email.Canonical(bench.value)
			}
		})
	}
}

func FuzzEmail(f *testing.F) {
	for _, value := range []string{
		"Alice@Example.com.", "Alice <alice@example,com>", "mailto:a%2Bb@example.com?x", `"a\"b"@example.com`,
		"a.\u0301b+c@gmail.com", "alice@例え。テスト", "alice@xn--bcher-kva.example", "用户@example.com",
		"alice@[192.0.2.1]", "a@@b.com, c@d.com", "al\u037Eice@example.com", "alice@שלום.קום", "\xFF@b.com",
		"a(b(c)d)@e.com", "-x@yahoo.com", "alice＠example.com",
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		emails := []profile.Email{
			{},
			{CaseSensitive: true},
			{Providers: profile.KnownProviders},
			{CaseSensitive: true, Providers: profile.KnownProviders},
		}
		for _, e := range emails {
			canonical := wantContract(t, e, value)
			if canonical == "" {
				continue
			}
			local, domain, ok := strings.Cut(canonical, "@")
			if !ok || len(canonical) > 254 || len(local) > 64 || local == "" || !strings.Contains(domain, ".") {
				t.Errorf("%q becomes %q, which is not an address", value, canonical)
			}
			if joined := e.Join(canonical, "2"); joined != "" {
				t.Errorf("Join = %q", joined)
			}
		}
		// The rules of providers refuse no address, unless there are too many marks in a row
		// without the dots.
		if countMarks(value) > 30 {
			return
		}
		plain, _ := emails[0].Canonical(value)
		known, err := emails[2].Canonical(value)
		if plain != "" && err != nil {
			t.Errorf("%q is %q without rules, and with them: %v", value, plain, err)
		}
		if again, _ := emails[2].Canonical(plain); again != known {
			t.Errorf("%q is %q with rules, and its plain form %q is %q", value, known, plain, again)
		}
	})
}

func countMarks(text string) int {
	marks := 0
	for _, r := range text {
		if unicode.IsMark(r) {
			marks++
		}
	}
	return marks
}

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
