package profile

import (
	"math/rand/v2"
	"testing"
	"unicode"
	"unicode/utf8"
)

// The fast path for ASCII has the same results.
func TestASCIISkeletonIsUnicodeSkeleton(t *testing.T) {
	t.Parallel()
	check := func(s string) {
		if got, want := Confusables.Skeleton(s), unicodeSkeleton(s); got != want {
			t.Errorf("the fast key of %q is %q, the slow one %q", s, got, want)
		}
	}
	for a := range byte(utf8.RuneSelf) {
		check(string(rune(a)))
		for b := range byte(utf8.RuneSelf) {
			check(string([]byte{a, b}))
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := make([]byte, r.IntN(90))
		for i := range text {
			if text[i] = byte(r.IntN(utf8.RuneSelf)); r.IntN(3) == 0 {
				text[i] = "-.@xnXN"[r.IntN(7)]
			}
		}
		check(string(text))
	}
}

// The last round changes no character.
func TestSkeletonIsStable(t *testing.T) {
	t.Parallel()
	for r := range unicode.MaxRune + 1 {
		if key := unicodeSkeleton(string(r)); unicodeSkeleton(key) != key {
			t.Errorf("%U has the key %+q, and that has the key %+q", r, key, unicodeSkeleton(key))
		}
	}
}

// The table of ignorable characters is that of Unicode.
func TestIgnorableIsUnicodes(t *testing.T) {
	t.Parallel()
	want := map[rune]bool{}
	readUnicodeData(t, "DerivedCoreProperties.txt", func(first, last rune, property string) {
		if property == "Default_Ignorable_Code_Point" {
			for r := first; r <= last; r++ {
				want[r] = true
			}
		}
	})
	for r := range unicode.MaxRune + 1 {
		if unicode.Is(ignorable, r) != want[r] {
			t.Errorf("%U: ignorable is %v, by Unicode it is %v", r, unicode.Is(ignorable, r), want[r])
		}
	}
}
