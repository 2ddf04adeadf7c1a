package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
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

// Whose a name is tells a caller with the right to list names, and no other: statistics are numbers.
func TestContestedNamesNeedTheRightToList(t *testing.T) {
	t.Parallel()
	grant := func(verbs ...access.Verb) []access.Grant {
		return []access.Grant{{Verbs: verbs, Namespaces: []string{"*"}}}
	}
	r := newRig(t, inMemory, map[string]access.Caller{
		"app": {Name: "app", Grants: grant(access.Own)}, "metrics": {Name: "metrics", Grants: grant(access.Stats)},
		"operator": {Name: "operator", Grants: grant(access.Watch)},
	})
	as := func(key string) http.Header { return http.Header{"Authorization": {"Bearer " + key}} }
	for _, id := range []string{"jane", "june"} {
		r.send("POST", "/v1/claims", as("app"), `{"namespace": "acme.slug", "value": "spring", "entity": {"type": "user", "id": "`+id+`"}}`)
	}
	for caller, sees := range map[string]bool{"metrics": false, "operator": true} {
		if got, text := r.send("GET", "/v1/stats/contested", as(caller), ""); got.status != http.StatusOK || strings.Contains(text, "jane") != sees {
			t.Errorf("%s: %d %s", caller, got.status, text)
		}
	}
}
