package profile

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

func TestScriptsAreUnicodes(t *testing.T) {
	t.Parallel()
	want := map[rune]string{}
	readUnicodeData(t, "Scripts.txt", func(first, last rune, name string) {
		if name == "Common" || name == "Inherited" {
			name = "any"
		}
		for r := first; r <= last; r++ {
			want[r] = strings.ReplaceAll(name, "_", " ")
		}
	})
	if len(want) < 140_000 {
		t.Fatalf("the file has %d characters, want about 149,000", len(want))
	}
	// A later Unicode has more characters, and rarely another script for one.
	others := 0
	for r, name := range want {
		if got := scriptOf(r); got != name {
			others++
			t.Logf("%U is %s, in Debian's Unicode it was %s", r, got, name)
		}
	}
	if others > 20 {
		t.Errorf("%d of %d characters have another script than in Debian's Unicode", others, len(want))
	}
}

// Each decimal digit has the zero of its own number system.
func TestDigitZero(t *testing.T) {
	t.Parallel()
	checked := 0
	readUnicodeData(t, "UnicodeData.txt", func(r, _ rune, fields string) {
		decimal := strings.Split(fields, ";")[5]
		zero, ok := digitZero(r)
		if isDecimal := decimal != ""; isDecimal != ok {
			t.Errorf("%U: a decimal digit is %v, want %v", r, ok, isDecimal)
			return
		}
		if ok {
			checked++
			if want := r - rune(decimal[0]-'0'); zero != want {
				t.Errorf("%U has the zero %U, want %U", r, zero, want)
			}
		}
	})
	if checked < 680 {
		t.Errorf("%d decimal digits, want 680", checked)
	}
}

func TestCombinationsAreScripts(t *testing.T) {
	t.Parallel()
	for _, writing := range combinations {
		for _, name := range writing {
			if unicode.Scripts[name] == nil {
				t.Errorf("there is no script %q", name)
			}
		}
	}
}

// unicodeData is the folder of Unicode's files in Debian's package unicode-data.
const unicodeData = "/usr/share/unicode"

// readUnicodeData calls entry for every line of a file: a range of characters and their
// property.
func readUnicodeData(t *testing.T, name string, entry func(first, last rune, property string)) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(unicodeData, name))
	if err != nil {
		t.Fatalf("Unicode's data is missing, `make deps` installs it: %v", err)
	}
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		characters, property, ok := strings.Cut(line, ";")
		if !ok {
			continue
		}
		from, to, isRange := strings.Cut(strings.TrimSpace(characters), "..")
		if !isRange {
			to = from
		}
		entry(readHex(t, from), readHex(t, to), strings.TrimSpace(property))
	}
}

func readHex(t *testing.T, s string) rune {
	t.Helper()
	n, err := strconv.ParseUint(s, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return rune(n)
}
