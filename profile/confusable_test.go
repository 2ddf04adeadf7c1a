package profile_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"go.mau.fi/util/confusable"
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

// debianConfusables is Unicode's confusables.txt, version 15, as Debian's package
// python3-confusable-homoglyphs has it: for each text the ones that look like it.
const debianConfusables = "/usr/lib/python3/dist-packages/confusable_homoglyphs/confusables.json"

// decomposed are mappings that Unicode's own algorithm never uses: it decomposes their
// source into a letter and a mark before it uses the table. They are the same in versions
// 15 and 17.
var decomposed = map[string]string{
	"ö": "ة", "ņ": "ɲ", "Ő": "Ö", "ţ": "ƫ", "ț": "ƫ", "Ơ": "O'", "ơ": "o'", "ǵ": "ģ", "Ȧ": "Å", "ȧ": "å",
	"Й": "Ѝ", "ѝ": "й", "أ": "l\u0674", "ؤ": "و\u0674", "ئ": "ى\u0674", "ṃ": "ꭑ", "\u1f7d": "ῴ", "ῶ": "Ꮿ",
	"\ufb2f": "\ufb2e", "\ufb30": "\ufb2e", "\ufb39": "\ufb1d", "\ufb49": "\ufb2a",
}

// changed are mappings of version 15 with another target in version 17.
var changed = map[string]string{
	"ӏ":      "i",            // now l
	"ƒ":      "f\u0326",      // now f
	"\u0d10": "\u0d0e\u0d46", // now with the vowel sign in front
}

func TestConfusablesCoverUnicode17(t *testing.T) {
	t.Parallel()
	checked := 0
	for r := range unicode.MaxRune + 1 {
		target := confusable.GetReplacement(r)
		if target == "" {
			continue
		}
		checked++
		checkMapping(t, string(r), target, decomposed[string(r)] == target)
	}
	t.Logf("%d mappings of Unicode 17, %d exceptions", checked, len(decomposed))
	if checked < 6500 {
		t.Errorf("the table has %d mappings, want 6,565", checked)
	}
}

func TestConfusablesCoverUnicode15(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(debianConfusables)
	if err != nil {
		t.Fatalf("Unicode's list of look-alikes is missing, `make deps` installs it: %v", err)
	}
	var alike map[string][]struct {
		C string `json:"c"`
	}
	if err := json.Unmarshal(data, &alike); err != nil {
		t.Fatal(err)
	}
	checked, excepted := 0, 0
	for a, list := range alike {
		for _, other := range list {
			b := other.C
			if a > b {
				continue // the file has both directions
			}
			checked++
			exception := isException(a, b) || isException(b, a)
			if exception {
				excepted++
			}
			checkMapping(t, a, b, exception)
		}
	}
	t.Logf("%d mappings of Unicode 15, %d exceptions", checked, excepted)
	if checked < 6300 || excepted != len(decomposed)+len(changed) {
		t.Errorf("%d mappings with %d exceptions, want 6,307 with %d", checked, excepted, len(decomposed)+len(changed))
	}
}

// isException reports whether a mapping is an exception. Debian's file has marks around
// right-to-left text.
func isException(source, target string) bool {
	source, target = strings.Trim(source, "\u200e"), strings.Trim(target, "\u200e")
	return decomposed[source] == target || changed[source] == target
}

// checkMapping checks that both have one key, alone and in a word, and that an exception still
// is one.
func checkMapping(t *testing.T, source, target string, exception bool) {
	t.Helper()
	key := profile.Confusables.Skeleton
	same := key(source) == key(target) && key("a"+source+"z") == key("a"+target+"z")
	switch {
	case !same && !exception:
		t.Errorf("%s and %s look alike (%+q, %+q), but have the keys %+q and %+q", source, target, source, target, key(source), key(target))
	case same && exception:
		t.Errorf("%s and %s (%+q, %+q) have one key: remove the exception", source, target, source, target)
	}
}
