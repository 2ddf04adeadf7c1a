package profile_test

import (
	"errors"
	"maps"
	"os"
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

func TestPolicies(t *testing.T) {
	t.Parallel()
	policies := profile.Policies()
	if got, want := slices.Sorted(maps.Keys(policies)), []string{"email", "hostname", "slug", "username"}; !slices.Equal(got, want) {
		t.Errorf("the policies are for %q, want %q", got, want)
	}
	for kind, policy := range policies {
		if name := policy.Profile.Name(); !strings.HasPrefix(name, kind+"/") {
			t.Errorf("the policy for %q has the profile %q", kind, name)
		}
	}
}

func TestPoliciesReturnsCopies(t *testing.T) {
	t.Parallel()
	mine := profile.Policies()
	delete(mine, "slug")
	if _, ok := profile.Policies()["slug"]; !ok {
		t.Error("Policies returns a shared map")
	}
}

func TestPoliciesUseTheirProfiles(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct{ value, want string }{
		"slug":     {"summer-fest", "summer-fest"},
		"username": {"Anna", "anna"},
		"email":    {"anna@EXAMPLE.com", "anna@example.com"},
		"hostname": {"ACME-Shop", "acme-shop"},
	} {
		if got, err := profile.Policies()[kind].Profile.Canonical(c.value); err != nil || got != c.want {
			t.Errorf("%s: Canonical(%q) = %q, %v; want %q", kind, c.value, got, err, c.want)
		}
	}
}

// A second dot above a letter and the form of a final sigma do not count.
func TestConfusablesBeyondTheTable(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"admi\u0307n", "admin"}, {"ADM\u0130N", "ADMIN"}, {"j\u0307", "j"}, {"οδος", "οδοσ"}, {"οδος", "ΟΔΟΣ"},
	} {
		a, err := profile.Username{}.Canonical(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		b, err := profile.Username{}.Canonical(pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if profile.Confusables.Skeleton(a) != profile.Confusables.Skeleton(b) {
			t.Errorf("%q and %q have different keys", a, b)
		}
	}
	for _, pair := range [][2]string{{"e\u0307", "e"}, {"ż", "z"}} {
		if profile.Confusables.Skeleton(pair[0]) == profile.Confusables.Skeleton(pair[1]) {
			t.Errorf("%q and %q have one key", pair[0], pair[1])
		}
	}
}

// A username may begin with an at sign without being an email.
func TestReservedAfterAtSign(t *testing.T) {
	t.Parallel()
	words, err := profile.ReservedWords(profile.Words{Own: []string{"admin"}, LookAlikes: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"@admin": true, "admin@example.com": true, "admi\u0307n": true, "alice@admin": false, "@alice": false, "@": false,
	} {
		if got := words.Reserved(name); got != want {
			t.Errorf("%q is reserved: %v", name, got)
		}
	}
}

// An address cannot contain invisible characters.
func TestEmailOfInvisibleCharacters(t *testing.T) {
	t.Parallel()
	if canonical, err := (profile.Email{}).Canonical("\u2800@example.com"); err == nil {
		t.Errorf("%q was accepted", canonical)
	}
}

// realName is a row of testdata/realworld.tsv.
type realName struct {
	script, value            string
	slug, hostname, username string
}

func realNames(t *testing.T) []realName {
	t.Helper()
	text, err := os.ReadFile("testdata/realworld.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var names []realName
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) < 5 {
			t.Fatalf("%q has %d columns", line, len(row))
		}
		names = append(names, realName{row[0], row[1], row[2], row[3], row[4]})
	}
	return names
}

func TestRealNamesCoverManyScripts(t *testing.T) {
	t.Parallel()
	names, scripts := realNames(t), map[string]bool{}
	for _, n := range names {
		scripts[n.script] = true
	}
	if len(names) < 160 || len(scripts) < 20 {
		t.Errorf("%d names of %d scripts", len(names), len(scripts))
	}
}

func TestRealNamesAsSlugs(t *testing.T) {
	t.Parallel()
	for _, n := range realNames(t) {
		checkReal(t, profile.Slug{}, n.value, n.slug)
	}
}

func TestRealNamesAsHostnames(t *testing.T) {
	t.Parallel()
	for _, n := range realNames(t) {
		checkReal(t, profile.Hostname{}, n.value, n.hostname)
	}
}

// checkReal compares the result for a value with the wanted one: a canonical form, or "!" and
// the rule of the refusal.
func checkReal(t *testing.T, p dibs.Profile, value, want string) {
	t.Helper()
	got, err := p.Canonical(value)
	if refusal, ok := errors.AsType[*dibs.Refusal](err); ok {
		got = "!" + refusal.Rule
	}
	if got != want {
		t.Errorf("%s of %q is %q (%v), want %q", p.Name(), value, got, err, want)
	}
}

func TestRealNamesAsUsernames(t *testing.T) {
	t.Parallel()
	for _, n := range realNames(t) {
		got, err := profile.Username{}.Canonical(n.value)
		if err != nil {
			got = "!" // for any rule
		}
		if got != n.username {
			t.Errorf("username of %q is %q (%v), want %q", n.value, got, err, n.username)
		}
	}
}
