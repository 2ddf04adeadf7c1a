package profile_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs/profile"
)

func everyWord(t testing.TB) profile.Words {
	t.Helper()
	return profile.Words{Lists: profile.AllLists, Own: []string{"acme"}, LookAlikes: true}
}

func TestReservedWordsAllocations(t *testing.T) { // not parallel: AllocsPerRun
	w := everyWord(t)
	w.Patterns = []string{"admin*", "*-support"}
	words := reservedWords(t, w)
	for _, name := range []string{"annaliseboyd", "anna-boyd", "s0mmer-fest24", "Anna.Boyd", "login", "anna.boyd@example.com"} {
		if got := testing.AllocsPerRun(100, func() { words.Reserved(name) }); got > 2 {
			t.Errorf("Reserved(%q) allocates %v times", name, got)
		}
	}
}

func BenchmarkReservedWords(b *testing.B) {
	plain := everyWord(b)
	plain.LookAlikes = false
	patterns := everyWord(b)
	patterns.Patterns = []string{"admin*", "*-support", "acme*", "??"}
	for kind, w := range map[string]profile.Words{"plain": plain, "alike": everyWord(b), "patterns": patterns} {
		words := reservedWords(b, w)
		for name, value := range map[string]string{"letters": "annaliseboyd", "digits": "summer-fest24", "email": "anna.boyd@example.com"} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					words.Reserved(value)
				}
			})
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, seed := range [][2]string{
		{"admin", "adm1n"}, {"xn--a-b", "a*"}, {"\xff@", "[a"}, {"-", "--"}, {"a/b", "a*"}, {"ﷺ", "ﷺ*"}, {"İ", "İ"}, {"ȺΑ", "Ⱥ?"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, name, pattern string) {
		for _, alike := range []bool{false, true} {
			w := profile.Words{Lists: []profile.List{profile.Roles}, Patterns: []string{pattern}, LookAlikes: alike}
			words, err := profile.ReservedWords(w)
			if err != nil {
				return
			}
			reserved := words.Reserved(name)
			if again := words.Reserved(name); again != reserved {
				t.Errorf("%q is reserved: %v, then %v", name, reserved, again)
			}
			w.Except = []string{name}
			if words, err = profile.ReservedWords(w); err != nil {
				t.Fatal(err)
			}
			if words.Reserved(name) && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == "" && name != "" {
				t.Errorf("%q is reserved, though it is excepted", name)
			}
		}
	})
}
