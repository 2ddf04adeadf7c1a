package figures

import (
	"fmt"
	"os"
	"strings"
)

// ReplacePart replaces what stands between two markers of a page.
func ReplacePart(page, begins, ends, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, begun := strings.Cut(string(old), begins)
	_, after, ended := strings.Cut(rest, ends)
	if !begun || !ended {
		return fmt.Errorf("%s has no place for it: %s", page, begins+ends)
	}
	return os.WriteFile(page, []byte(before+begins+text+ends+after), 0o600)
}
