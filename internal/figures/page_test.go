package figures_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/calldibs/dibs/internal/figures"
)

func TestReplacePart(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n<a>\nold\n</a>\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := figures.ReplacePart(page, "<a>\n", "</a>\n", "new\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != "before\n<a>\nnew\n</a>\nafter\n" {
		t.Errorf("%q, %v", got, err)
	}
	if err := figures.ReplacePart(page, "<b>\n", "</b>\n", "new\n"); err == nil {
		t.Error("a page without the markers is accepted")
	}
}
