package profile_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/calldibs/dibs/profile"
)

func FuzzUsername(f *testing.F) {
	for _, value := range []string{
		"Alice", "foo bar", "henry\u2163", "שלום_", "l·l·x", "e\u0301", "ＡＢ１", "👩‍💻dev", "م٠۰",
		"क्\u200Dष", "ｶﾞ", "ΟΔΥΣΣΕΥΣ", "İ", "\xFF", strings.Repeat("Ⱥ", 70), "\u0345\u0399", "a\u0327\u0301",
	} {
		f.Add(value, "2", 0, 0)
	}
	f.Add("alice-bob", "berlin", 3, 8)
	f.Fuzz(func(t *testing.T, value, word string, least, most int) {
		u := profile.Username{MinLength: least, MaxLength: most}
		checkContract(t, u, value, []string{word}, func(canonical string) {
			length := utf8.RuneCountInString(canonical)
			if least > 0 && length < least || most > 0 && length > most {
				t.Errorf("%q has %d characters, want %d to %d", canonical, length, least, most)
			}
		})
	})
}
