package profile_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/calldibs/dibs/profile"
)

func TestUsernameCanonical(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ value, want string }{
		// The legal usernames of RFC 8265, section 3.5.
		{"juliet@example.com", "juliet@example.com"},
		{"fussball", "fussball"},
		{"fußball", "fußball"},
		{"π", "π"},
		{"Σ", "σ"},
		{"σ", "σ"},
		{"ς", "ς"},

		// All of visible ASCII is allowed, and only its case changes.
		{"Alice", "alice"},
		{"ALICE_99", "alice_99"},
		{"~!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}", "~!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}"},

		// Case, beyond ASCII.
		{"Müller", "müller"},
		{"ÀÉÎ", "àéî"},
		{"ΟΔΥΣΣΕΥΣ", "οδυσσευσ"},
		{"İ", "i\u0307"},
		{"А", "а"}, // Cyrillic stays Cyrillic: look-alikes are for the skeleton

		// Normalization: a letter and its accent are one.
		{"e\u0301", "é"},
		{"A\u030A", "å"},
		{"\u212B", "å"},
		{"\u1112\u1161\u11AB", "한"},

		// Width.
		{"ＡＢ１", "ab1"},
		{"ｶﾞ", "ガ"},

		// Characters that need a context.
		{"col·lega", "col·lega"},
		{"カ・タ", "カ・タ"},
		{"क्\u200Dष", "क्\u200Dष"},
		{"א׳", "א׳"},
		{"͵α", "͵α"},
		{"م٠١", "م٠١"},

		// Right to left.
		{"שלום", "שלום"},
		{"שלום2", "שלום2"},
		{"של-ום", "של-ום"},

		// The Bidi Rule applies to names with right-to-left characters only.
		{"müller_", "müller_"},
		{"1é", "1é"},
		{"_ü_", "_ü_"},
	} {
		got, err := profile.Username{}.Canonical(test.value)
		if err != nil || got != test.want {
			t.Errorf("Canonical(%q) = %q, %v, want %q", test.value, got, err, test.want)
		}
	}
}

func TestUsernameRefusals(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 65)
	for _, test := range []struct {
		value, rule string
		at          int
		try         string
	}{
		// The illegal usernames of RFC 8265, section 3.5.
		{"foo bar", "space", 3, "foo-bar"},
		{"", "empty", -1, ""},
		{"henry\u2163", "character", 5, "henryiv"},
		{"\u265A", "symbol", 0, ""},
		{"\u221E", "symbol", 0, ""},

		{" alice", "space", 0, "alice"},
		{"alice ", "space", 5, "alice"},
		{"Alice  B. Smith", "space", 5, "alice-b.-smith"},
		{"a\u00A0b", "space", 1, "a-b"},
		{"a\u3000b", "space", 1, "a-b"},
		{" ", "space", 0, ""},
		{"bob😀", "symbol", 3, "bob"},
		{"👩‍💻dev", "symbol", 0, "dev"},
		{"I❤️NY", "symbol", 1, "iny"},
		{"a§b", "character", 1, "ab"},
		{"a€b", "symbol", 1, "ab"},
		{"a²", "character", 1, "a2"},
		{"ﬀ", "character", 0, "ff"},
		{"ǅ", "character", 0, "dž"}, // compatible with two letters
		{"a\u200Bb", "character", 1, "ab"},
		{"a\u202Eb", "character", 1, "ab"},
		{"a\x7Fb", "character", 1, "ab"},
		{"a\tb", "space", 1, "a-b"},
		{"a\x00b", "character", 1, "ab"},
		{"a\uE000", "character", 1, "a"},
		{"é\u1100", "character", 2, "é"},
		{"\xFFa", "utf8", -1, "a"},

		{"ab·c", "misplaced_character", 2, "abc"},
		{"l·l·x", "misplaced_character", 4, "llx"},
		{"a\u200Db", "misplaced_character", 1, "ab"},
		{"a・b", "misplaced_character", 1, "ab"},
		{"a･b", "misplaced_character", 1, "ab"},
		{"a\u0387b", "misplaced_character", 1, "ab"},
		{"a" + strings.Repeat("\u0301", 40), "too_many_marks", -1, ""},
		{"م٠۰", "misplaced_character", 4, "م"},

		{"שc", "direction_mixed", 2, ""},
		{"aש", "direction_mixed", 1, ""},
		{"1שלום", "direction_start", 0, "שלום"},
		{"_שלום", "direction_start", 0, "שלום"},
		{"שלום_", "direction_end", 8, "שלום"},
		{"م٠1", "direction_digits", 4, ""},

		{long, "too_long", -1, long[:64]},
		{strings.Repeat("é", 65), "too_long", -1, strings.Repeat("é", 64)},
	} {
		wantRefusal(t, profile.Username{}, test.value, test.rule, test.at, test.try)
	}
}

func TestUsernameProblemsContainTheCharacter(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"a∞":      `has the symbol '∞' (U+221E), which a username cannot have: try "a"`,
		"a\u200B": `has the character '\u200b' (U+200B), which a username cannot have: try "a"`,
		"a b":     `has a space (U+0020): try "a-b"`,
	} {
		if _, err := (profile.Username{}).Canonical(value); err == nil || err.Error() != want {
			t.Errorf("Canonical(%q): %v, want %s", value, err, want)
		}
	}
}

func TestUsernameLengths(t *testing.T) {
	t.Parallel()
	short := profile.Username{MinLength: 3, MaxLength: 5}
	wantRefusal(t, short, "ab", "too_short", -1, "")
	wantRefusal(t, short, "é", "too_short", -1, "")
	wantRefusal(t, short, "abcdef", "too_long", -1, "abcde")
	wantRefusal(t, short, "a b c d", "space", 1, "a-b-c")
	wantRefusal(t, short, "a ", "space", 1, "")
	for _, value := range []string{"abc", "abcde", "ééééé", "e\u0301e\u0301e\u0301e\u0301e\u0301"} {
		if _, err := short.Canonical(value); err != nil {
			t.Errorf("Canonical(%q): %v", value, err)
		}
	}
	// The maximum of bytes applies with any options.
	huge := profile.Username{MaxLength: 1 << 20}
	wantRefusal(t, huge, strings.Repeat("Ⱥ", 500), "too_long", -1, strings.Repeat("ⱥ", 341))
	// A cut does not separate marks from their letter.
	wantRefusal(t, profile.Username{MaxLength: 2}, "xyq\u0307\u0323", "too_long", -1, "xy")
	wantRefusal(t, profile.Username{MaxLength: 2}, "xq\u0307", "too_long", -1, "x")
}

func TestUsernameName(t *testing.T) {
	t.Parallel()
	for want, u := range map[string]profile.Username{
		"username/1":              {},
		"username/1;min=3":        {MinLength: 3},
		"username/1;max=20":       {MinLength: 1, MaxLength: 20},
		"username/1;min=3;max=20": {MinLength: 3, MaxLength: 20},
	} {
		if got := u.Name(); got != want {
			t.Errorf("%+v: %s, want %s", u, got, want)
		}
	}
	if got := (profile.Username{MinLength: -1, MaxLength: 64}).Name(); got != "username/1" {
		t.Errorf("the name contains the defaults: %s", got)
	}
}

func TestUsernameJoin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		most            int
		canonical, word string
		want            string
	}{
		{0, "alice", "2", "alice-2"},
		{0, "alice", "Berlin", "alice-berlin"},
		{0, "שלום", "2", "שלום-2"},
		{0, "שלום", "berlin", ""},
		{0, "alice", "new york", ""},
		{0, "alice", "", ""},
		{0, "", "2", ""},
		{7, "alice", "2", "alice-2"},
		{6, "alice", "2", "alic-2"},
		{8, "alice-bob", "2", "alice-2"},
		{4, "bob", "berlin", ""},
		{2, "bob", "2", "b2"}, // no room for the hyphen
		{1, "b", "2", ""},
		{0, strings.Repeat("é", 64), "10", strings.Repeat("é", 61) + "-10"},
	} {
		u := profile.Username{MaxLength: test.most}
		if got := u.Join(test.canonical, test.word); got != test.want {
			t.Errorf("Join(%q, %q) with at most %d = %q, want %q", test.canonical, test.word, test.most, got, test.want)
		}
	}
}

func TestUsernameAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, pools lose what they have")
	}
	for value, most := range map[string]float64{"alice_smith.99": 0, "Alice_Smith.99": 1} {
		allocs := testing.AllocsPerRun(100, func() {
			if _, err := (profile.Username{}).Canonical(value); err != nil {
				t.Error(err)
			}
		})
		if allocs > most {
			t.Errorf("%q: %v allocations, want at most %v", value, allocs, most)
		}
	}
}

func BenchmarkCanonicalUsername(b *testing.B) {
	for _, bench := range []struct{ name, value string }{
		{"canonical", "alice_smith.99"},
		{"ascii", "Alice_Smith.99"},
		{"unicode", "Müller"},
		{"refused", "Alice Smith ∞"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = profile.Username{}.Canonical(bench.value)
			}
		})
	}
}

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
