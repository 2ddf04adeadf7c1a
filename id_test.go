package dibs_test

import (
	"errors"
	"testing"

	"github.com/calldibs/dibs"
)

func FuzzParseID(f *testing.F) {
	f.Add("res_na3p7egyqmoocjuyesjf6lekuq")
	f.Add("res_NA3P7EGYQMOOCJUYESJF6LEKUQ")
	f.Add("res_na3p7egyqmoocjuyesjf6lekur") // spare bits that are not zero
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := dibs.ParseID(s)
		if err != nil {
			if !errors.Is(err, dibs.ErrNotFound) {
				t.Errorf("ParseID(%q) = %v", s, err)
			}
			return
		}
		if !id.IsZero() && id.String() != s {
			t.Errorf("%q and %q are the same reservation", s, id.String())
		}
	})
}
