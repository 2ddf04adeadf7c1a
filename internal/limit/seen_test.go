package limit_test

import (
	"strconv"
	"testing"

	"github.com/calldibs/dibs/internal/limit"
)

func TestSeen(t *testing.T) {
	t.Parallel()
	s := limit.NewSeen()
	s.Add("a", "b")
	for _, c := range []struct {
		parts []string
		want  bool
	}{{[]string{"a", "b"}, true}, {[]string{"ab"}, false}, {[]string{"ab", ""}, false}, {[]string{"b", "a"}, false}, {[]string{"a"}, false}} {
		if s.Has(c.parts...) != c.want {
			t.Errorf("%q: Has returned %v", c.parts, !c.want)
		}
	}
	for i := range limit.MaxSeen - 1 {
		s.Add(strconv.Itoa(i))
	}
	if !s.Has("a", "b") {
		t.Error("a recent thing was forgotten")
	}
	for i := range 2 * limit.MaxSeen {
		s.Add("other", strconv.Itoa(i))
	}
	if s.Has("a", "b") {
		t.Error("an old thing was not forgotten")
	}
}
