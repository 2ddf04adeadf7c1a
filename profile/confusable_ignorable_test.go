package profile

import (
	"testing"
	"unicode"
)

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
