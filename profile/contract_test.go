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

var profileNames = regexp.MustCompile(`^[a-z0-9]+/[0-9]+(;[a-z0-9=,._-]+)*$`)

func TestContract(t *testing.T) {
	t.Parallel()
	for _, p := range shipped() {
		t.Run(p.Name(), func(t *testing.T) {
			t.Parallel()
			if !profileNames.MatchString(p.Name()) {
				t.Errorf("the name %q is not in the form of slug/1;max=40", p.Name())
			}
			name := p.Name()
			rapid.Check(t, func(t *rapid.T) {
				value := writtenByPeople.Draw(t, "value")
				contractHolds(t, p, value)
				if p.Name() != name {
					t.Fatalf("the name was %q and is %q", name, p.Name())
				}
			})
		})
	}
}

// contractHolds checks the contract of the package for one value.
func contractHolds(t *rapid.T, p dibs.Profile, value string) {
	canonical, err := p.Canonical(value)
	if again, errAgain := p.Canonical(value); again != canonical || (err == nil) != (errAgain == nil) {
		t.Fatalf("Canonical(%+q) is %+q, %v, then %+q, %v", value, canonical, err, again, errAgain)
	}
	if err != nil {
		contractRefusal(t, p, value, err)
		return
	}
	if !contractText(value) {
		return // the registry refuses such a value itself
	}
	contractStable(t, p, canonical)
	if joiner, ok := p.(dibs.Joiner); ok {
		for _, word := range []string{"2", "berlin", "x7k2", "123456789"} {
			if joined := joiner.Join(canonical, word); joined != "" {
				contractStable(t, p, joined)
			}
		}
	}
}

// contractStable checks that a profile accepts a text and does not change it.
func contractStable(t *rapid.T, p dibs.Profile, text string) {
	if !contractText(text) {
		t.Fatalf("%+q is not a text of 1 to 1,024 bytes without control characters", text)
	}
	if again, err := p.Canonical(text); err != nil || again != text {
		t.Fatalf("Canonical(%+q) = %+q, %v: want it unchanged", text, again, err)
	}
}

func contractRefusal(t *rapid.T, p dibs.Profile, value string, err error) {
	var r *dibs.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("Canonical(%+q): %v, want a refusal", value, err)
	}
	if strings.Trim(r.Rule, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || r.Rule == "" || r.Problem == "" {
		t.Fatalf("Canonical(%+q): the refusal %+v has no proper rule or problem", value, r)
	}
	if r.At < -1 || r.At > len(value) {
		t.Fatalf("Canonical(%+q): the position of the refusal %+v is outside of the value", value, r)
	}
	if r.Try == "" {
		return
	}
	if _, err := p.Canonical(r.Try); err != nil || !contractText(r.Try) {
		t.Fatalf("Canonical(%+q) offers %+q, which it does not accept: %v", value, r.Try, err)
	}
}

// contractText reports whether a text is valid as a value and as a canonical form.
func contractText(text string) bool {
	return text != "" && len(text) <= 1024 && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
