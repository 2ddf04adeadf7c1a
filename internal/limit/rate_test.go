package limit_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/limit"
)

func TestParseRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]limit.Rate{
		"500/s": {N: 500, Per: time.Second}, "1/s": {N: 1, Per: time.Second},
		"10/m": {N: 10, Per: time.Minute}, "7/h": {N: 7, Per: time.Hour}, "off": {},
	} {
		got, err := limit.ParseRate(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v (%s), %v", text, got, got, err)
		}
	}
	for _, text := range []string{"", "0/s", "-1/s", "500", "500/", "/s", "5/d", "1.5/s", "500/s ", "1000000001/s", "Off"} {
		if got, err := limit.ParseRate(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
