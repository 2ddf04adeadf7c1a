package profile_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/calldibs/dibs"
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
		canonical := wantContract(t, u, value)
		if canonical == "" {
			return
		}
		length := utf8.RuneCountInString(canonical)
		if least > 0 && length < least || most > 0 && length > most {
			t.Errorf("%q has %d characters, want %d to %d", canonical, length, least, most)
		}
		if joined := u.Join(canonical, word); joined != "" {
			if again, err := u.Canonical(joined); err != nil || again != joined {
				t.Errorf("Join(%q, %q) = %q, which becomes %q, %v", canonical, word, joined, again, err)
			}
		}
	})
}

// wantContract checks the contract of profiles for one value. It returns the canonical form,
// empty for a refusal.
func wantContract(t *testing.T, p dibs.Profile, value string) string {
	t.Helper()
	canonical, err := p.Canonical(value)
	if err == nil {
		if again, err := p.Canonical(canonical); err != nil || again != canonical {
			t.Errorf("%q becomes %q, and that %q, %v", value, canonical, again, err)
		}
		if canonical == "" || len(canonical) > 1024 || !utf8.ValidString(canonical) || strings.ContainsFunc(canonical, unicode.IsControl) {
			t.Errorf("%q becomes %q, which is not a canonical form", value, canonical)
		}
		return canonical
	}
	refusal, ok := errors.AsType[*dibs.Refusal](err)
	if !ok {
		t.Fatalf("%q is refused by %T: %v", value, err, err)
	}
	if canonical != "" || refusal.Rule == "" || refusal.Problem == "" || refusal.At < -1 || refusal.At >= max(len(value), 1) {
		t.Fatalf("%q: %q, %+v", value, canonical, refusal)
	}
	if refusal.At > 0 && utf8.ValidString(value) && !utf8.RuneStart(value[refusal.At]) {
		t.Errorf("%q: the position of %+v is inside a character", value, refusal)
	}
	if refusal.Try != "" {
		if _, err := p.Canonical(refusal.Try); err != nil {
			t.Errorf("%q: %+v refuses its own Try: %v", value, refusal, err)
		}
		if refusal.Try == value {
			t.Errorf("%q: Try is the value itself", value)
		}
	}
	return ""
}
