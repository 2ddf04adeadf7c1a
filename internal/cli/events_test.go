package cli_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
)

// TestEventsOfACaller checks that --actor selects the changes of one caller, with the other flags.
func TestEventsOfACaller(t *testing.T) {
	t.Parallel()
	w := newWorld()
	claims := 0
	claim := func(caller string) {
		w.open = func(registry *dibs.Registry) (*dibs.Registry, error) {
			return registry.As(dibs.Principal{Name: caller}), nil
		}
		claims++
		if o := w.run("", "claim", "slug", fmt.Sprint("name-", claims), "--entity", fmt.Sprint("user/", claims)); o.code != 0 {
			t.Fatal(o)
		}
	}
	for _, caller := range []string{"checkout", "admin", "checkout", "checkout"} {
		claim(caller)
	}
	for args, want := range map[string]string{
		"--actor checkout":               "name-1 name-3 name-4",
		"--actor checkout --limit 2":     "name-1 name-3",
		"--actor checkout --last 2":      "name-3 name-4",
		"--actor admin --kind claimed":   "name-2",
		"--actor admin --kind confirmed": "",
		"--actor check":                  "",
		"--entity user/2":                "name-2",
		"--entity user/3 --actor admin":  "",
	} {
		o := w.run("", append([]string{"events"}, strings.Fields(args)...)...)
		if got := strings.Join(regexp.MustCompile(`name-\d`).FindAllString(o.stdout, -1), " "); o.code != 0 || got != want {
			t.Errorf("events %s: %q, want %q\n%s", args, got, want, o)
		}
	}
}
