package spelling_test

import (
	"testing"

	"github.com/calldibs/dibs/internal/spelling"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"listen", "list", "maxStale", "max-body", "DIBS_LISTEN", "DIBS_STORE", "drainTimeout", "--json", "wait"}
	for word, want := range map[string]string{
		"lisen":         "listen", // one is missing
		"listten":       "listen", // one too many
		"lsit":          "list",   // swapped
		"lits":          "list",
		"maxstale":      "maxStale",
		"max_body":      "max-body",
		"DIBS_LISEN":    "DIBS_LISTEN",
		"DIBS_LISTENER": "DIBS_LISTEN",
		"DIBS_STRE":     "DIBS_STORE",
		"drainTimout":   "drainTimeout",
		"--jsno":        "--json",
		"wiat":          "wait",
		"port":          "",
		"x":             "",
		"":              "",
		"frobnicate":    "",
	} {
		if got := spelling.Nearest(word, known); got != want {
			t.Errorf("%q is near %q, want %q", word, got, want)
		}
	}
	if got := spelling.Hint("lisen", known); got != "; did you mean listen?" {
		t.Error(got)
	}
	if got := spelling.Hint("port", nil); got != "" {
		t.Error(got)
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("lisen", "listen")
	f.Add("ß", "\xff")
	f.Fuzz(func(t *testing.T, word, known string) {
		got := spelling.Nearest(word, []string{known})
		if got != "" && got != known || word == known && got != known {
			t.Errorf("%q: %q", word, got)
		}
	})
}
