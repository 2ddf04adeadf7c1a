package profile_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"

	"go.mau.fi/util/confusable"

	"github.com/calldibs/dibs/profile"
)

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
