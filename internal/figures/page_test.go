package figures_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"

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

// Two parts that are filled at the same time are both there.
func TestFillFileAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		text := fmt.Sprintln(i)
		var fills errgroup.Group
		want := page
		for _, part := range []string{"a", "two words"} {
			fills.Go(func() error { return figures.FillFile(path, part, text) })
			var err error
			if want, err = figures.Fill(want, part, text); err != nil {
				t.Fatal(err)
			}
		}
		if err := fills.Wait(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
}
