package profile_test

import (
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/calldibs/dibs/profile"
)

func TestConfusablesHaveOneKey(t *testing.T) {
	t.Parallel()
	for _, alike := range [][]string{
		{"google", "g00gle", "gооgle", "GOOGLE", "goo\u200bgle", "go\u00adogle", "googl\ufe0fe"},
		{"paypal", "paypa1", "раураl", "paypaI", "рауpal", "𝓹𝓪𝔂𝓹𝓪𝓵"},
		{"microsoft", "rnicrosoft", "Microsoft", "rnicrosоft"},
		{"zoë", "zoe\u0308", "zоё"},
		{"a\u0301\u0323", "a\u0323\u0301", "a\u0301\u034f\u0323"},
		// Encoded labels of host names: pаypal.com with one Cyrillic letter.
		{"paypal.com", "xn--pypal-4ve.com", "XN--pypal-4ve.com", "раypal.com", "paypa1.com"},
		{"ann@paypal.com", "ann@xn--pypal-4ve.com", "аnn@pаypal.com"},
	} {
		want := profile.Confusables.Skeleton(alike[0])
		for _, name := range alike[1:] {
			if got := profile.Confusables.Skeleton(name); got != want {
				t.Errorf("%q has the key %+q, but %q has %+q", name, got, alike[0], want)
			}
		}
	}
}

func TestConfusablesHaveDifferentKeys(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"lily", "iiiy"},
		{"lily", "lilly"},
		{"anna", "hanna"},
		{"ann", "ann2"},
		{"mail", "mall"},
		{"news", "mews"},
		{"straße", "strase"},
		{"muller", "müller"},
		{"u5", "us"},
		{"a-b", "ab"},
		{"東京", "京都"},
		// Only a domain has labels: this local part is not decoded.
		{"xn--pypal-4ve@example.com", "paypal@example.com"},
		// Invalid labels are not decoded.
		{"xn--9999999999.com", "xn--9999999998.com"},
		{"xn--a", "a"},
		{"xn--", ""},
	} {
		if a, b := profile.Confusables.Skeleton(pair[0]), profile.Confusables.Skeleton(pair[1]); a == b {
			t.Errorf("%q and %q have the same key, %+q", pair[0], pair[1], a)
		}
	}
}

// Users notice most which ASCII characters look alike.
func TestConfusablesOfASCII(t *testing.T) {
	t.Parallel()
	byKey := map[string]string{}
	for c := byte('!'); c <= '~'; c++ {
		byKey[profile.Confusables.Skeleton(string(c))] += string(c)
	}
	for key, want := range map[string]string{"l": "1ILl|", "o": "0Oo", "i": "i", "rn": "Mm", "s": "Ss", "5": "5", "'": "'`"} {
		if byKey[key] != want {
			t.Errorf("the key %q stands for %q, want %q", key, byKey[key], want)
		}
	}
}

func TestConfusablesName(t *testing.T) {
	t.Parallel()
	if got := profile.Confusables.Name(); got != "uts39/17;2" {
		t.Errorf("Name() = %q: stores keep keys under this name, so a change of keys needs a new one", got)
	}
}

func TestConfusablesAllocations(t *testing.T) { // not parallel: AllocsPerRun
	for name, most := range map[string]float64{"annaliseboyd": 0, "sommerfest24": 1, "mixed-Case_10": 1} {
		if got := testing.AllocsPerRun(100, func() { profile.Confusables.Skeleton(name) }); got > most {
			t.Errorf("Skeleton(%q) allocates %v times, more than %v", name, got, most)
		}
	}
}

func FuzzConfusable(f *testing.F) {
	for _, seed := range []string{
		"google", "раураl", "xn--pypal-4ve.com", "a@xn--80ak6aa92e.com", "\xff\xfe", "xn--\u212a", "%", "", "e\u0301\u0323",
		"a\u034f\u0301", "한국", "ﷺ", "xn--" + "a-b", "..@..", "ǅ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		key := profile.Confusables.Skeleton(name)
		if !utf8.ValidString(key) {
			t.Errorf("Skeleton(%+q) = %+q, which is not valid UTF-8", name, key)
		}
		if !utf8.ValidString(name) {
			return
		}
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if other := profile.Confusables.Skeleton(form.String(name)); other != key {
				t.Errorf("Skeleton(%+q) = %+q, but of %+q it is %+q", name, key, form.String(name), other)
			}
		}
	})
}

func BenchmarkConfusables(b *testing.B) {
	for name, value := range map[string]string{"ascii": "annaliseboyd", "digits": "sommerfest24", "cyrillic": "раураlраураl"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				profile.Confusables.Skeleton(value)
			}
		})
	}
}
