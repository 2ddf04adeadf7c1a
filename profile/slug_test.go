package profile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/profile"
)

func TestSlugOfTitles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ value, want string }{
		{"alice-bob", "alice-bob"},
		{"Alice & Bob", "alice-bob"},
		{"  Alice -- & -- Bob!  ", "alice-bob"},
		{"Don't", "dont"},
		{"Don’t", "dont"},
		{"Donʼt", "dont"},
		{"Ünïcode & Füße", "unicode-fusse"},
		{"U\u0308ni\u0308code", "unicode"},
		{"你好 世界", "ni-hao-shi-jie"},
		{"你好", "ni-hao"},
		{"佐々木", "zuo-zuo-mu"},
		{"iPhone手机2", "iphone-shou-ji-2"},
		{"Москва", "moskva"},
		{"Mit\u00adarbeiter", "mitarbeiter"},
		{"zero\u200bwidth", "zero-width"},
		{"צה״ל", "tshl"},
		{"𝕯𝖎𝖇𝖘", "dibs"},
		{"ᴅɪʙꜱ", "dibs"},
		{"Dibs® Pro™", "dibs-pro"},
		{"½ price", "1-2-price"},
		{"١٢٣", "123"},
		{"caf\xe9 noir", "caf-noir"},
		{"foo🎉bar", "foo-bar"},
		{"1️⃣ First", "1-first"},
		{"ꮳꮃꭹ", "tsalagi"},
	} {
		if got, err := (profile.Slug{}).Canonical(test.value); err != nil || got != test.want {
			t.Errorf("%q becomes %q (%v), want %q", test.value, got, err, test.want)
		}
	}
}

func TestSlugIsCutAtWordEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit       int
		value, want string
	}{
		{9, "alice-bob", "alice-bob"},
		{8, "alice-bob", "alice"},
		{6, "Alice Bob", "alice"},
		{5, "Alice Bob", "alice"},
		{4, "Alice Bob", "alic"},
		{1, "Alice Bob", "a"},
		{1, "a b", "a"},
		{2, "a b", "a"},
		{3, "a b", "a-b"},
		{5, "你好世界", "ni"},
		{6, "你好世界", "ni-hao"},
		{0, strings.Repeat("x", 90), strings.Repeat("x", 80)},
		{-7, strings.Repeat("x", 90), strings.Repeat("x", 80)},
		{255, strings.Repeat("x", 300), strings.Repeat("x", 255)},
		{9999, strings.Repeat("x", 300), strings.Repeat("x", 255)},
	} {
		if got, err := (profile.Slug{MaxLength: test.limit}).Canonical(test.value); err != nil || got != test.want {
			t.Errorf("%q becomes %q (%v) within %d bytes, want %q", test.value, got, err, test.limit, test.want)
		}
	}
}

func TestSlugRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word-", 20) + "end"
	lenient, strict := profile.Slug{}, profile.Slug{Strict: true}
	for _, test := range []struct {
		profile profile.Slug
		value   string
		want    dibs.Refusal
	}{
		{lenient, "!!!", dibs.Refusal{Rule: "no_letter_or_digit", Problem: "has no letter or digit in it", At: -1}},
		{lenient, "🎉", dibs.Refusal{Rule: "no_letter_or_digit", Problem: "has no letter or digit in it", At: -1}},
		{lenient, "", dibs.Refusal{Rule: "no_letter_or_digit", Problem: "has no letter or digit in it", At: -1}},
		{lenient, "𐌲𐌿𐍄", dibs.Refusal{Rule: "script_not_known", Problem: "is in a script that cannot be written with a to z", At: -1}},
		{strict, "", dibs.Refusal{Rule: "no_letter_or_digit", Problem: "has no letter or digit in it", At: -1}},
		{strict, "aliceBob", dibs.Refusal{Rule: "upper_case", Problem: "has an upper-case letter at byte 5", At: 5, Try: "alicebob"}},
		{strict, "alice bob", dibs.Refusal{Rule: "character_not_allowed", Problem: "has a character that is not allowed at byte 5", At: 5, Try: "alice-bob"}},
		{strict, "füße", dibs.Refusal{Rule: "character_not_allowed", Problem: "has a character that is not allowed at byte 1", At: 1, Try: "fusse"}},
		{strict, "!!!", dibs.Refusal{Rule: "character_not_allowed", Problem: "has a character that is not allowed at byte 0", At: 0}},
		{strict, "-alice", dibs.Refusal{Rule: "hyphen_at_start", Problem: "starts with a hyphen", At: 0, Try: "alice"}},
		{strict, "-", dibs.Refusal{Rule: "hyphen_at_start", Problem: "starts with a hyphen", At: 0}},
		{strict, "alice-bob-", dibs.Refusal{Rule: "hyphen_at_end", Problem: "ends with a hyphen", At: 9, Try: "alice-bob"}},
		{strict, "alice--bob", dibs.Refusal{Rule: "two_hyphens", Problem: "has two hyphens in a row at byte 6", At: 6, Try: "alice-bob"}},
		{strict, long, dibs.Refusal{Rule: "too_long", Problem: "has 103 bytes, more than the 80 allowed", At: -1, Try: long[:79]}},
	} {
		_, err := test.profile.Canonical(test.value)
		var got *dibs.Refusal
		if !errors.As(err, &got) || *got != test.want {
			t.Errorf("%s of %q: %+v, want %+v", test.profile.Name(), test.value, err, test.want)
		}
	}
	if _, err := strict.Canonical("alice-bob-"); err.Error() != `ends with a hyphen: try "alice-bob"` {
		t.Error(err)
	}
}

func TestSlugJoin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit                 int
		canonical, word, want string
	}{
		{0, "alice", "2", "alice-2"},
		{0, "alice", "Berlin", "alice-berlin"},
		{0, "alice", "new york", "alice-new-york"},
		{0, "alice", "!", ""},
		{0, "", "2", ""},
		{9, "alice-bob", "2", "alice-2"},
		{5, "alice", "x7k2", ""},
		{6, "alice", "x7k2", "a-x7k2"},
		{1, "a", "2", ""},
		{2, "a", "2", ""},
		{3, "abc", "2", "a-2"},
		{3, "a-2", "2", ""},
		{80, strings.Repeat("x", 80), "2", strings.Repeat("x", 78) + "-2"},
	} {
		if got := (profile.Slug{MaxLength: test.limit}).Join(test.canonical, test.word); got != test.want {
			t.Errorf("%q and %q become %q within %d bytes, want %q", test.canonical, test.word, got, test.limit, test.want)
		}
	}
}

func TestSlugName(t *testing.T) {
	t.Parallel()
	for want, slug := range map[string]profile.Slug{
		"slug/1":                {},
		"slug/1;max=40":         {MaxLength: 40},
		"slug/1;max=255":        {MaxLength: 1000},
		"slug/1;strict":         {Strict: true, MaxLength: -1},
		"slug/1;max=255;strict": {Strict: true, MaxLength: 255},
	} {
		if got := slug.Name(); got != want {
			t.Errorf("%+v is called %q, want %q", slug, got, want)
		}
	}
	if (profile.Slug{MaxLength: 80}).Name() != "slug/1" {
		t.Error("the name contains the default length")
	}
}

func TestSlugAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, pools lose what they have")
	}
	// not parallel: AllocsPerRun
	for value, most := range map[string]float64{"alice-and-bob": 0, "Alice & Bob's Wedding, 2026": 1} {
		if got := testing.AllocsPerRun(100, func() { _, _ = profile.Slug{}.Canonical(value) }); got > most {
			t.Errorf("%q takes %v allocations, more than %v", value, got, most)
		}
	}
}

func BenchmarkCanonicalSlug(b *testing.B) {
	for name, value := range map[string]string{
		"canonical": "alice-and-bob-get-married",
		"ascii":     "Alice & Bob's Wedding, 2026",
		"latin":     "Ünïcode & Füße",
		"han":       "你好 世界",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = profile.Slug{}.Canonical(value)
			}
		})
	}
}

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
