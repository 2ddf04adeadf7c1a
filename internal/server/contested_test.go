package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// Names that are asked for often keep their place among many that are asked for once.
func TestContestedNamesAreBounded(t *testing.T) {
	t.Parallel()
	var counts contestedCounts
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	taken := func(key string) *dibs.Error { return &dibs.Error{Code: dibs.CodeNameTaken, Key: key} }
	everything := func(string) bool { return true }
	for i := range 20 * maxContested {
		counts.note(taken(fmt.Sprintf("slug:name-%d", i)), now)
		if i%10 == 0 {
			counts.note(taken("slug:spring"), now)
		}
	}
	keys, sums := counts.most(1, now, everything)
	if len(keys) != 1 || keys[0] != "slug:spring" || len(sums) > maxContested {
		t.Errorf("the most contested of %d is %v", len(sums), keys)
	}
	counts.note(&dibs.Error{Failures: []dibs.Failure{{Err: taken("email:a")}, {Err: &dibs.Error{Code: dibs.CodeInvalidValue, Key: "email:b"}}}}, now)
	if keys, _ := counts.most(10, now, func(namespace string) bool { return namespace == "email" }); len(keys) != 0 && fmt.Sprint(keys) != "[email:a]" {
		t.Errorf("of one namespace: %v", keys)
	}
	if keys, _ := counts.most(10, now.Add(contestedHours*time.Hour), everything); len(keys) != 0 {
		t.Errorf("after a day: %v", keys)
	}
	counts.note(taken("slug:new"), now.Add(30*time.Hour))
	if len(counts.hours) != 1 {
		t.Errorf("%d hours are kept", len(counts.hours))
	}
}
