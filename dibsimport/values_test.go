package dibsimport

import (
	"testing"
	"time"
)

// A value of a database is a text or an error, and a time that was understood stays the same time
// when it is written as databases do.
func FuzzValues(f *testing.F) {
	f.Add("2026-03-01 12:00:00.5+02", []byte("alice"), 1.5, int64(1700000000))
	f.Add("2026-03-01", []byte{0xff}, -1.25, int64(1700000000000))
	f.Add("1700000000", []byte(nil), 1e300, int64(-1))
	f.Fuzz(func(t *testing.T, text string, blob []byte, float float64, number int64) {
		for _, value := range []any{text, blob, float, number, int32(number), int16(number), uint64(number), number > 0, time.UnixMilli(number), nil, [16]byte{byte(number)}} {
			if _, err := textOf(value); err != nil {
				t.Errorf("%T %v: %v", value, value, err)
			}
		}
		if _, err := textOf(struct{}{}); err == nil {
			t.Error("a value of any type is taken for a text")
		}
		at, err := parseTime(text)
		if err != nil || at.Year() < 0 || at.Year() > 9999 { // RFC 3339 has four digits
			return
		}
		written, err := textOf(at)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseTime(written); err != nil || !again.Equal(at) {
			t.Errorf("%q is %v, written %q, and then %v, %v", text, at, written, again, err)
		}
	})
}
