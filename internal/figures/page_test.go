package figures_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/calldibs/dibs/internal/figures"
)

const page = `before
<!-- generated: a -->
old
<!-- end -->
between
<!-- generated: two words -->
<!-- end -->
`

func TestFill(t *testing.T) {
	t.Parallel()
	got, err := figures.Fill(page, "two words", "new\n")
	if want := "before\n<!-- generated: a -->\nold\n<!-- end -->\nbetween\n<!-- generated: two words -->\nnew\n<!-- end -->\n"; got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for what, page := range map[string]string{
		"no part":            "before\n<!-- generated: a -->\n<!-- end -->\n",
		"a part with no end": "<!-- generated: b -->\nold\n",
		"another part's end": "<!-- generated: b -->\nold\n<!-- generated: a -->\n<!-- end -->\n",
	} {
		if got, err := figures.Fill(page, "b", "new\n"); err == nil {
			t.Errorf("a page with %s becomes %q", what, got)
		}
	}
}

func TestFillFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := figures.FillFile(path, "a", "new\n"); err != nil {
		t.Fatal(err)
	}
	want, err := figures.Fill(page, "a", "new\n")
	if got, readErr := os.ReadFile(path); err != nil || readErr != nil || string(got) != want {
		t.Errorf("%q, %v, %v", got, err, readErr)
	}
	if err := figures.FillFile(path, "b", "new\n"); err == nil {
		t.Error("a page without the part is accepted")
	}
}
