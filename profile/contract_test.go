package profile_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/profile"
)

// shipped returns the profiles of the package, also wrapped in OneScript.
func shipped() []dibs.Profile {
	plain := []dibs.Profile{profile.Slug{}, profile.Username{}, profile.Email{}, profile.Hostname{}}
	all := slices.Clone(plain)
	for _, p := range plain {
		all = append(all, profile.OneScript(p))
	}
	return append(all, profile.OneScript(dibs.Exact))
}

// writtenByPeople generates values that people enter, also to break things.
var writtenByPeople = rapid.OneOf(
	rapid.StringMatching(`[A-Za-z0-9 ._@+-]{1,40}`),
	rapid.StringMatching(`[a-z]{1,10}(-[a-z0-9]{1,10}){0,8}`),
	rapid.StringMatching(`[A-Za-z0-9.+]{1,20}@([a-zA-Z0-9-]{1,20}\.){1,3}[a-z]{2,8}`),
	rapid.StringMatching(`([a-z0-9-]{1,70}\.){0,6}[a-zA-Z]{1,10}\.?`),
	rapid.StringMatching(`[a-zäöüßçñéİıſΣςа-яё東京ひカ한ا٣१ﬁ①Ⅷ🎉\x{200d}\x{301}\x{ad}'’ _.@-]{1,30}`),
	rapid.SampledFrom([]string{
		"-", "--", ".", "@", "a@", "@a", "a@b", " ", "xn--", "xn--80ak6aa92e.com", "XN--PYPAL-4VE.com", "a..b", "1.2.3.4", "[::1]",
		`"a b"@example.com`, "ﷺ", "İstanbul", "e\u0301", "\u0301", strings.Repeat("a", 1024), strings.Repeat("é", 512), strings.Repeat("ß", 300),
	}),
	rapid.StringN(1, 60, 1024),
)

var (
	profileNames = regexp.MustCompile(`^[a-z0-9]+/[0-9]+(;[a-z0-9=,._-]+)*$`)
	ruleForm     = regexp.MustCompile(`^[a-z0-9_]+$`)
	addressForm  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
)

func TestContract(t *testing.T) {
	t.Parallel()
	for _, p := range shipped() {
		t.Run(p.Name(), func(t *testing.T) {
			t.Parallel()
			if !profileNames.MatchString(p.Name()) {
				t.Errorf("the name %q is not in the form of slug/1;max=40", p.Name())
			}
			rapid.Check(t, func(t *rapid.T) {
				value := writtenByPeople.Draw(t, "value")
				if contractText(value) || !strings.HasPrefix(p.Name(), dibs.Exact.Name()) { // Exact leaves those to the registry
					wantContract(t, p, value)
				}
			})
		})
	}
}

// wantContract checks the contract of the package for one value. It returns the canonical
// form, empty for a refusal.
func wantContract(t rapid.TB, p dibs.Profile, value string) string {
	t.Helper()
	return checkContract(t, p, value, []string{"2", "berlin", "x7k2", "123456789"}, func(string) {})
}

// checkContract is wantContract with other words to join. It calls check for every canonical
// form that the profile returns.
func checkContract(t rapid.TB, p dibs.Profile, value string, words []string, check func(canonical string)) string {
	t.Helper()
	name := p.Name()
	canonical, err := p.Canonical(value)
	if again, errAgain := p.Canonical(value); again != canonical || (err == nil) != (errAgain == nil) || p.Name() != name {
		t.Fatalf("%s: Canonical(%+q) is %+q, %v, then %+q, %v", name, value, canonical, err, again, errAgain)
	}
	if err != nil {
		if try := contractRefusal(t, p, value, canonical, err); try != "" {
			check(try)
		}
		return ""
	}
	contractStable(t, p, canonical)
	check(canonical)
	if joiner, ok := p.(dibs.Joiner); ok {
		for _, word := range words {
			if joined := joiner.Join(canonical, word); joined != "" {
				contractStable(t, p, joined)
				check(joined)
			}
		}
	}
	return canonical
}

// contractStable checks that a profile accepts a text and does not change it.
func contractStable(t rapid.TB, p dibs.Profile, text string) {
	t.Helper()
	if !contractText(text) {
		t.Fatalf("%s: %+q is not a text of 1 to 1,024 bytes without control characters", p.Name(), text)
	}
	if again, err := p.Canonical(text); err != nil || again != text {
		t.Fatalf("%s: Canonical(%+q) = %+q, %v: want it unchanged", p.Name(), text, again, err)
	}
}

// contractRefusal checks a refusal. It returns the canonical form of its Try.
func contractRefusal(t rapid.TB, p dibs.Profile, value, canonical string, err error) string {
	t.Helper()
	r, ok := errors.AsType[*dibs.Refusal](err)
	if !ok || canonical != "" {
		t.Fatalf("%s: Canonical(%+q): %q, %v, want a refusal", p.Name(), value, canonical, err)
	}
	if !ruleForm.MatchString(r.Rule) || r.Problem == "" {
		t.Fatalf("%s: Canonical(%+q): the refusal %+v has no proper rule or problem", p.Name(), value, r)
	}
	if r.At < -1 || r.At >= max(len(value), 1) || r.At > 0 && utf8.ValidString(value) && !utf8.RuneStart(value[r.At]) {
		t.Fatalf("%s: Canonical(%+q): the position of %+v is outside of the value or inside a character", p.Name(), value, r)
	}
	if r.Try == "" {
		return ""
	}
	canonical, err = p.Canonical(r.Try)
	if err != nil || !contractText(r.Try) || r.Try == value {
		t.Fatalf("%s: Canonical(%+q) offers %+q, which it does not accept: %v", p.Name(), value, r.Try, err)
	}
	return canonical
}

// wantRefusal checks every part of a refusal.
func wantRefusal(t *testing.T, p dibs.Profile, value, rule string, at int, try string) {
	t.Helper()
	got, err := p.Canonical(value)
	refusal, ok := errors.AsType[*dibs.Refusal](err)
	if !ok {
		t.Errorf("Canonical(%q) = %q, %v, want a refusal by %s", value, got, err, rule)
		return
	}
	if refusal.Rule != rule || refusal.At != at || refusal.Try != try {
		t.Errorf("Canonical(%q): rule %s at %d, try %q (%s)\n\twant rule %s at %d, try %q",
			value, refusal.Rule, refusal.At, refusal.Try, refusal.Problem, rule, at, try)
	}
}

// contractText reports whether a text is valid as a value and as a canonical form.
func contractText(text string) bool {
	return text != "" && len(text) <= 1024 && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// checkAddressContract is checkContract for slugs and host names. It also checks the
// characters and the length of every canonical form.
func checkAddressContract(t *testing.T, p dibs.Profile, value, word string, limit int) string {
	t.Helper()
	canonical := checkContract(t, p, value, []string{word}, func(canonical string) {
		if len(canonical) > limit {
			t.Errorf("%s: %q has %d bytes", p.Name(), canonical, len(canonical))
		}
		if !addressForm.MatchString(canonical) {
			t.Errorf("%s: %q is not in the form of a slug", p.Name(), canonical)
		}
	})
	if canonical != "" && p.(dibs.Joiner).Join(canonical, word) == canonical {
		t.Errorf("%s: Join(%q, %q) changes nothing", p.Name(), canonical, word)
	}
	return canonical
}
