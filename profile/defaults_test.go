package profile_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/profile"
)

// refuses says why a policy does not give out a value as a new name; empty if it does.
func refuses(p dibs.Policy, value string) string {
	canonical, err := p.Profile.Canonical(value)
	switch {
	case err != nil:
		return err.Error()
	case p.ReservedWords != nil && p.ReservedWords.Reserved(canonical):
		return p.ReservedWords.(dibs.WordExplainer).Explain(canonical)
	}
	return ""
}

// The defaults refuse what imitates the operator or another name, and each check can be switched
// off alone.
func TestDefaults(t *testing.T) {
	t.Parallel()
	const reserved, alike = "is a reserved word here", "looks like a word that is reserved here"
	for _, c := range []struct{ kind, value, reserved, mixed, alike string }{
		// Refused by the zero Defaults; with AllowReserved, AllowMixedScripts, AllowLookAlikes.
		{"username", "admin", "", reserved, reserved},
		{"username", "Ad-Min", "", reserved, reserved},
		{"username", "adm1n", "", alike, ""},
		{"slug", "Log in", "", reserved, reserved},
		{"slug", "l0gin", "", "", ""},
		{"hostname", "WWW", "", reserved, reserved},
	} {
		for _, d := range []struct {
			defaults profile.Defaults
			want     string
		}{
			{profile.Defaults{AllowReserved: true}, c.reserved},
			{profile.Defaults{AllowMixedScripts: true}, c.mixed},
			{profile.Defaults{AllowLookAlikes: true}, c.alike},
			{profile.Defaults{AllowReserved: true, AllowMixedScripts: true, AllowLookAlikes: true}, ""},
		} {
			if got := refuses(d.defaults.Policies()[c.kind], c.value); got != d.want {
				t.Errorf("%+v, %s %q: %q, want %q", d.defaults, c.kind, c.value, got, d.want)
			}
		}
	}
	safe := profile.Policies()
	for _, c := range []struct{ kind, value, want string }{
		{"username", "Аnn", `mixes Cyrillic and Latin ("n" at byte 2): try "ann"`},
		{"username", "Анна", ""},
		{"username", "ann", ""},
		{"email", "admin@example.com", ""},
		{"slug", "Admin’s wedding", ""},
		{"hostname", "shop", ""},
	} {
		if got := refuses(safe[c.kind], c.value); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.kind, c.value, got, c.want)
		}
	}
	if got := refuses(profile.Defaults{AllowMixedScripts: true}.Policies()["username"], "Аnn"); got != "" {
		t.Errorf("allowed mixed scripts: %q", got)
	}
	if safe["username"].Skeleton != profile.Confusables || (profile.Defaults{AllowLookAlikes: true}).Policies()["username"].Skeleton != nil {
		t.Error("look-alikes of usernames are not as the defaults say")
	}
}

// people are given names and surnames, pages and handles that the defaults must not take from
// anyone, those that are close to a word above all.
const people = `
	ann anna adam ada alan ali amin amina art april bill billy chase chip dean denis drew earl eve faith
	frank grace grant guy hope ian iris ivy jack jobs joy june king lana levi lily mark marc max may mia
	miles nan nico nick norm owen page pat paul penny pop rob robin rob rosa rose rusty sam sammy sky sue
	tess vera wes will willa xi yuki zoe müller anna-maria o.neill 李雷 нина მარიამ
	home shop store events gallery wedding recipes music art health cookies garden jazz chess cafe test demo
	m3 d8 n5 a11 r55 mx5 e46 ps5 go 42 2026 rooted adminton mailman webber wwwombat hello bot team
	summer-sale alice-and-bob our-wedding my-login about-me the-admin-handbook new-york edith`

func TestDefaultsRefuseNoPeople(t *testing.T) {
	t.Parallel()
	for kind, policy := range profile.Policies() {
		if kind == "email" {
			continue
		}
		for name := range strings.FieldsSeq(people) {
			if strings.ContainsAny(name, ".") && kind != "username" || !isPlain(name) && kind == "hostname" {
				continue
			}
			if why := refuses(policy, name); why != "" {
				t.Errorf("%s %q %s", kind, name, why)
			}
		}
	}
}

func isPlain(name string) bool {
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// Each word of the file is in the canonical form of all three types that reserve it, in a group
// with a comment, and refused in each.
func TestEssentialWords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("data/words-essential.txt")
	if err != nil {
		t.Fatal(err)
	}
	groups := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	for _, group := range groups[1:] { // the first is about the file
		lines := strings.Split(group, "\n")
		words := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.HasPrefix(line, "#") })
		if len(words) == len(lines) || len(words) == 0 || !slices.IsSorted(words) {
			t.Errorf("a group needs a comment and sorted words:\n%s", group)
		}
	}
	policies := profile.Policies()
	for _, word := range profile.Essential.Words {
		for _, kind := range []string{"username", "slug", "hostname"} {
			canonical, err := policies[kind].Profile.Canonical(word)
			if err != nil || canonical != word {
				t.Errorf("%s: %q becomes %q, %v", kind, word, canonical, err)
			}
			if refuses(policies[kind], strings.ToUpper(word)) == "" {
				t.Errorf("%s: %q is given out", kind, word)
			}
		}
	}
}

// However a reserved word is spelt, usernames refuse it.
func TestSpellingsOfEssentialWords(t *testing.T) {
	t.Parallel()
	policy := profile.Policies()["username"]
	alike := map[rune][]string{
		'a': {"A", "4", "а", "ａ"}, 'e': {"E", "3", "е"}, 'o': {"O", "0", "о"}, 'i': {"I", "1", "і"}, 's': {"S", "5", "ѕ"}, 'm': {"M", "rn", "ｍ"},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		word := profile.Essential.Words[random.IntN(len(profile.Essential.Words))]
		if strings.ContainsAny(word, "0123456789") || len(word) < 4 {
			continue
		}
		var spelt strings.Builder
		for _, r := range word {
			if others := alike[r]; others != nil && random.IntN(2) == 0 {
				spelt.WriteString(others[random.IntN(len(others))])
			} else {
				spelt.WriteRune(r)
			}
			if random.IntN(6) == 0 {
				spelt.WriteString([]string{"-", "_", "."}[random.IntN(3)])
			}
		}
		if why := refuses(policy, strings.Trim(spelt.String(), "-_.")); why == "" {
			t.Errorf("%q is given out, a spelling of %q", spelt.String(), word)
		}
	}
}

func ExampleDefaults() {
	policies := profile.Defaults{AllowReserved: true}.Policies()
	fmt.Println(policies["username"].ReservedWords == nil, policies["username"].Profile.Name())
	// Output: true username/1;onescript
}
