package figures

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A generated part of a page stands between <!-- generated: NAME --> and <!-- end -->.
const (
	partBegins = "<!-- generated: "
	partEnds   = "<!-- end -->"
)

// Fill returns the page with a text as the generated part that has this name.
func Fill(page, name, text string) (string, error) {
	begins := partBegins + name + " -->\n"
	before, rest, begun := strings.Cut(page, begins)
	old, after, ended := strings.Cut(rest, partEnds)
	if !begun || !ended || strings.Contains(old, partBegins) {
		return "", fmt.Errorf("the page has no part %s…%s", strings.TrimSpace(begins), partEnds)
	}
	return before + begins + text + partEnds + after, nil
}

// FillFile fills a part of a page that is a file. Several processes may do so at once.
func FillFile(path, name, text string) error {
	unlock, err := Lock(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	filled, err := Fill(string(page), name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(filled), 0o644)
}
