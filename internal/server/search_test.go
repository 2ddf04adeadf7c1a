package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
)

// A search finds nothing that its caller could not get or list.
func TestSearchRespectsRights(t *testing.T) {
	t.Parallel()
	notRaced(t)
	caller := func(namespace string, verbs ...access.Verb) access.Caller {
		return access.Caller{Name: "c", Grants: []access.Grant{{Verbs: verbs, Namespaces: []string{namespace}}}}
	}
	r := newRig(t, inMemory, map[string]access.Caller{
		"all": caller("*", access.All), "getter": caller("*", access.Get), "acme": caller("acme.*", access.Read, access.Watch),
		"one": caller("acme.slug", access.Get), "lister": caller("*", access.List),
	})
	owner := dibs.Entity{Type: "user", ID: "1"}
	for _, namespace := range []string{"slug", "acme.slug", "globex.slug"} {
		if _, err := r.registry.Claim(t.Context(), dibs.Claim{Namespace: namespace, Value: "spring", Entity: owner}); err != nil {
			t.Fatal(err)
		}
	}
	id := dibs.NameID("slug", "spring").String()
	everywhere := []string{"acme.slug:spring", "globex.slug:spring", "slug:spring"}
	search := func(key, text string, answer *found) int {
		t.Helper()
		header := http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}}
		res, body := r.send(http.MethodPost, "/v1/search", header, fmt.Sprintf(`{"text": %q}`, text))
		_ = json.Unmarshal([]byte(body), answer)
		return res.status
	}
	for _, c := range []struct {
		key, text string
		want      []string
		entities  int
	}{
		{"all", "Spring", everywhere, 0},
		{"all", "spr", everywhere, 0},
		{"all", "slug:spr", []string{"slug:spring"}, 0},
		{"all", "user/1", nil, 3},
		{"getter", "Spring", everywhere, 0},
		{"getter", "spr", nil, 0},
		{"getter", "slug:spr", nil, 0},
		{"getter", id, []string{"slug:spring"}, 0},
		{"acme", "spring", []string{"acme.slug:spring"}, 0},
		{"acme", "spr", []string{"acme.slug:spring"}, 0},
		{"acme", "slug:spring", nil, 0},
		{"acme", "globex.slug:spr", nil, 0},
		{"acme", id, nil, 0},
		{"acme", "user:1", nil, 1},
		{"one", "spring", []string{"acme.slug:spring"}, 0},
		{"one", "spr", nil, 0},
		{"one", "user/1", nil, 0},
	} {
		var answer found
		status := search(c.key, c.text, &answer)
		var keys []string
		for _, n := range answer.Names {
			keys = append(keys, n.Key)
		}
		if status != http.StatusOK || !slices.Equal(keys, c.want) || len(answer.Entities) != c.entities {
			t.Errorf("%s searches %q: %d %v and %d entities, want %v and %d", c.key, c.text, status, keys, len(answer.Entities), c.want, c.entities)
		}
	}
	if status := search("lister", "spring", new(found)); status != http.StatusForbidden {
		t.Errorf("without the right get a search is %d", status)
	}
}
