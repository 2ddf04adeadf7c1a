package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
)

// The right to hold names does not include replacing the name of an entity.
func TestHoldersDoNotReplaceNames(t *testing.T) {
	t.Parallel()
	grants := func(hold, rename string) access.Caller {
		return access.Caller{Name: "checkout", Grants: []access.Grant{
			{Verbs: verbs(access.Read, access.Hold), Namespaces: []string{hold}}, {Verbs: verbs(access.Rename), Namespaces: []string{rename}},
		}}
	}
	for what, c := range map[string]struct {
		caller access.Caller
		code   string
	}{
		"nowhere":   {access.Caller{Name: "checkout", Grants: grants("acme.slug", "").Grants[:1]}, "FORBIDDEN"},
		"elsewhere": {grants("acme.slug", "acme.other"), "RESERVATION_NOT_FOUND"},
		"there":     {grants("acme.slug", "acme.slug"), ""},
	} {
		for member, value := range map[string]string{"replace": "true", "replaces": `"taken"`} {
			for _, inList := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s %t", what, member, inList), func(t *testing.T) {
					t.Parallel()
					r := newRig(t, inMemory, map[string]access.Caller{"key": c.caller})
					if _, err := r.registry.Claim(t.Context(), dibs.Claim{Namespace: "acme.slug", Value: "taken", Entity: dibs.Entity{Type: "t", ID: "1"}}); err != nil {
						t.Fatal(err)
					}
					header := http.Header{"Authorization": {"Bearer key"}, "Idempotency-Key": {someToken}}
					if res, text := r.send(http.MethodPost, "/v1/reservations", header, `{"namespace": "acme.slug", "value": "evil"}`); res.status != http.StatusCreated {
						t.Fatal(text)
					}
					id := dibs.NameID("acme.slug", "evil").String()
					members := fmt.Sprintf(`"token": %q, "entity": {"type": "t", "id": "1"}, %q: %s`, someToken, member, value)
					path, body := "/v1/reservations/"+id+"/confirm", "{"+members+"}"
					if inList {
						path, body = "/v1/apply", fmt.Sprintf(`{"commands": [{"op": "confirm", "reservationId": %q, %s}]}`, id, members)
					}
					_, text := r.send(http.MethodPost, path, header, body)
					var problem struct{ Code string }
					if err := json.Unmarshal([]byte(text), &problem); err != nil || problem.Code != c.code {
						t.Errorf("it is %q, want %q: %s", problem.Code, c.code, text)
					}
					name, err := r.registry.Get(t.Context(), dibs.Lookup{Namespace: "acme.slug", Value: "taken"})
					if err != nil || (name.State == dibs.Active) != (c.code != "") {
						t.Errorf("the entity's name is %s, %v", name.State, err)
					}
				})
			}
		}
	}
}
