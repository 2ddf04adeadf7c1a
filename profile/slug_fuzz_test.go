package profile_test

import (
	"testing"

	"github.com/calldibs/dibs/profile"
)

// seedTitles adds titles, a word and a limit.
func seedTitles(f *testing.F) {
	f.Helper()
	for _, value := range []string{
		"Alice & Bob", "alice-bob-", "--", "Ünïcode & Füße", "你好 世界", "佐々木", "!!!", "𝓕𝓪𝓷𝓬𝔂", "ลำปาง", "נ״ל", "\xff", "a\u0308\u200b\u00ad",
	} {
		f.Add(value, "Berlin", 0)
		f.Add(value, "2", 3)
	}
}

func FuzzSlug(f *testing.F) {
	seedTitles(f)
	f.Fuzz(func(t *testing.T, value, word string, limit int) {
		slug := profile.Slug{MaxLength: limit}
		canonical := checkAddressContract(t, slug, value, word, slugLimit(limit))
		if canonical == "" {
			return
		}
		if got, err := (profile.Slug{MaxLength: limit, Strict: true}).Canonical(canonical); err != nil || got != canonical {
			t.Errorf("with Strict, %q becomes %q (%v)", canonical, got, err)
		}
	})
}

func FuzzSlugStrict(f *testing.F) {
	seedTitles(f)
	f.Fuzz(func(t *testing.T, value, word string, limit int) {
		strict := profile.Slug{MaxLength: limit, Strict: true}
		if canonical := checkAddressContract(t, strict, value, word, slugLimit(limit)); canonical != "" && canonical != value {
			t.Errorf("with Strict, %q becomes %q", value, canonical)
		}
	})
}

func slugLimit(limit int) int {
	if limit <= 0 {
		return 80
	}
	return min(limit, 255)
}
