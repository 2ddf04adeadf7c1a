package profile_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/calldibs/dibs/profile"
)

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
