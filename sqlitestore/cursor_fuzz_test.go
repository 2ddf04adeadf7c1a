package sqlitestore

import (
	"errors"
	"testing"

	"github.com/calldibs/dibs"
)

func FuzzCursor(f *testing.F) {
	for _, text := range []string{"", "1", "007", "-1", "9223372036854775808", " 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		seq, err := parseCursor(dibs.Cursor(text))
		switch {
		case errors.Is(err, dibs.ErrBadCursor):
		case err != nil:
			t.Errorf("%q: %v", text, err)
		case text != "" && cursorOf(seq) != dibs.Cursor(text):
			t.Errorf("%q is %d", text, seq)
		}
	})
}
