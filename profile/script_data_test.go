package profile

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

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
