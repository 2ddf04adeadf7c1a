package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
)

// tenants are two callers, each with all rights in its own scope.
var tenants = map[string]access.Caller{
	"acme":   {Name: "acme", Grants: []access.Grant{{Verbs: verbs(access.All), Namespaces: []string{"acme.*"}}}},
	"globex": {Name: "globex", Grants: []access.Grant{{Verbs: verbs(access.All), Namespaces: []string{"globex.*"}}}},
}

const leaked = "globex-token-that-leaked"

// foreign makes names of globex in every state, and returns their ids by state.
func foreign(r *rig) map[string]string {
	r.Helper()
	as := http.Header{"Authorization": {"Bearer globex"}, "Idempotency-Key": {leaked}}
	ids := map[string]string{"absent": dibs.NameID("globex.slug", "never-reserved").String()}
	reserve := func(namespace, value string, ttl int) string {
		res, text := r.send(http.MethodPost, "/v1/reservations", as, fmt.Sprintf(`{"namespace": %q, "value": %q, "ttlMs": %d}`, namespace, value, ttl))
		if res.status != http.StatusCreated {
			r.Fatal(text)
		}
		return dibs.NameID(namespace, value).String()
	}
	use := func(id, verb, more string) string {
		res, text := r.send(http.MethodPost, "/v1/reservations/"+id+"/"+verb, as, fmt.Sprintf(`{"token": %q%s}`, leaked, more))
		if res.status != http.StatusOK {
			r.Fatal(text)
		}
		return id
	}
	ids["held"] = reserve("globex.mill", "held", 3_600_000)
	ids["active"] = use(reserve("globex.slug", "active", 300_000), "confirm", `, "entity": {"type": "t", "id": "theirs"}`)
	ids["released"] = use(reserve("globex.slug", "released", 300_000), "release", "")
	ids["suspect"] = reserve("globex.mwitness", "suspect", 1)
	eventually(r.TB, "a suspect", func() bool {
		_, text := r.send(http.MethodGet, "/v1/reservations/"+ids["suspect"], as, "")
		return strings.Contains(text, `"suspect"`)
	})
	return ids
}

// onIDs are the ops with a reservation id, each with a leaked token.
var onIDs = []string{
	`{"op": "extend", "reservationId": "ID", "token": "` + leaked + `", "ttlMs": 300000}`,
	`{"op": "confirm", "reservationId": "ID", "token": "` + leaked + `", "entity": {"type": "t", "id": "mine"}}`,
	`{"op": "release", "reservationId": "ID", "token": "` + leaked + `"}`,
	`{"op": "settle", "reservationId": "ID", "outcome": "exists", "entity": {"type": "t", "id": "mine"}}`,
	`{"op": "settle", "reservationId": "ID", "outcome": "absent"}`,
}

// ownOps returns all ops of the matrix, which are about acme.
func ownOps() (ops []string) {
	fill := strings.NewReplacer("ID", someID, "ENTITY", `{"type": "t", "id": "mine"}`)
	for _, c := range calls {
		if strings.HasPrefix(c.body, `{"op"`) {
			ops = append(ops, fill.Replace(c.body))
		}
	}
	return append(ops, `{"op": "claim", "namespace": "acme.slug", "value": "fresh", "entity": {"type": "t", "id": "mine"}}`)
}

// In a list, after any command of its own, a caller gets the same response for an id of another
// tenant as for one that does not exist, and nothing happens to it.
func TestListsHideForeignReservations(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, tenants)
	r.client.Transport = direct{r.server}
	ids := foreign(r)
	as := http.Header{"Authorization": {"Bearer acme"}}
	apply := func(dry bool, ops ...string) (int, string) {
		res, text := r.send(http.MethodPost, "/v1/apply", as, fmt.Sprintf(`{"dryRun": %t, "commands": [%s]}`, dry, strings.Join(ops, ", ")))
		return res.status, text
	}
	if status, text := apply(false, `{"op": "reserve", "namespace": "acme.slug", "value": "held", "token": "`+someToken+`"}`); status != http.StatusOK {
		t.Fatal(text)
	}
	before := r.everything("globex")
	lists := 0
	for _, first := range append(ownOps(), "") {
		for _, op := range onIDs {
			for _, dry := range []bool{true, false} {
				behind := func(id string) (int, string) {
					ops := []string{first, strings.ReplaceAll(op, "ID", id)}
					if first == "" {
						ops = ops[1:]
					}
					status, text := apply(dry, ops...)
					lists++
					return status, strings.ReplaceAll(text, id, "ID")
				}
				status, text := behind(ids["absent"])
				if status < 400 || first == "" && !strings.Contains(text, "RESERVATION_NOT_FOUND") {
					t.Fatalf("%s and %s of no reservation: %d %s", first, op, status, text)
				}
				for state, id := range ids {
					if s, got := behind(id); s != status || got != text {
						t.Errorf("dry %t: [%s, %s] of a %s one: %d %s\nof none: %d %s", dry, first, op, state, s, got, status, text)
					}
				}
			}
		}
	}
	// The same for ids in paths.
	for _, path := range []string{"", "/extend", "/confirm", "/release", "/settle"} {
		method, body := http.MethodPost, `{"token": "`+leaked+`"}`
		switch path {
		case "":
			method, body = http.MethodGet, ""
		case "/confirm":
			body = `{"token": "` + leaked + `", "entity": {"type": "t", "id": "mine"}}`
		case "/settle":
			body = `{"outcome": "absent"}`
		}
		for state, id := range ids {
			res, text := r.send(method, "/v1/reservations/"+id+path, as, body)
			if want := "there is no reservation " + id; res.status != http.StatusNotFound || !strings.Contains(text, want) {
				t.Errorf("%s of a %s one: %d %s", path, state, res.status, text)
			}
		}
	}
	if after := r.everything("globex"); after != before {
		t.Errorf("globex had\n%s\nand has\n%s", before, after)
	}
	t.Logf("%d lists", lists)
}

// everything returns all events of a tenant.
func (r *rig) everything(tenant string) string {
	r.Helper()
	var all strings.Builder
	events, err := r.registry.Events(r.Context(), dibs.FeedQuery{Limit: 1000})
	if err != nil {
		r.Fatal(err)
	}
	for _, e := range events.Events {
		if strings.HasPrefix(e.Namespace, tenant+".") {
			fmt.Fprintln(&all, e.Kind, e.Namespace, e.Canonical, e.Rev)
		}
	}
	return all.String()
}

// Every op on another tenant's namespace or scope is forbidden, at any position in a list.
func TestListsAreForbiddenElsewhere(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, tenants)
	r.client.Transport = direct{r.server}
	as := http.Header{"Authorization": {"Bearer acme"}}
	own := ownOps()
	for _, op := range own {
		theirs := strings.ReplaceAll(op, "acme", "globex")
		if strings.Contains(op, `"reservationId"`) {
			continue
		}
		for _, first := range own {
			for _, list := range [][]string{{first, theirs}, {theirs, first}, {first, theirs, first}} {
				for _, dry := range []string{"true", "false"} {
					res, text := r.send(http.MethodPost, "/v1/apply", as, `{"dryRun": `+dry+`, "commands": [`+strings.Join(list, ", ")+`]}`)
					if res.status != http.StatusForbidden {
						t.Errorf("%v, dry %s: %d %s", list, dry, res.status, text)
					}
				}
			}
		}
	}
}

// A command can use a reservation that an earlier command of the list makes.
func TestListUsesItsOwnReservation(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, tenants)
	id := dibs.NameID("acme.slug", "made-here").String()
	res, text := r.send(http.MethodPost, "/v1/apply", http.Header{"Authorization": {"Bearer acme"}}, `{"commands": [
		{"op": "reserve", "namespace": "acme.slug", "value": "made-here", "token": "`+someToken+`"},
		{"op": "extend", "reservationId": "`+id+`", "token": "`+someToken+`", "ttlMs": 600000},
		{"op": "confirm", "reservationId": "`+id+`", "token": "`+someToken+`", "entity": {"type": "t", "id": "mine"}}]}`)
	if res.status != http.StatusOK {
		t.Error(res.status, text)
	}
}

// In a list too, a right applies only in the namespaces where it was granted.
func TestListTakesRightsWhereTheyAreGranted(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, map[string]access.Caller{"clerk": {Name: "clerk", Grants: []access.Grant{
		{Verbs: verbs(access.Hold), Namespaces: []string{"acme.*"}},
		{Verbs: verbs(access.OverrideReserved), Namespaces: []string{"acme.word"}},
	}}})
	apply := func(ops ...string) (int, string) {
		res, text := r.send(http.MethodPost, "/v1/apply", http.Header{"Authorization": {"Bearer clerk"}}, `{"commands": [`+strings.Join(ops, ", ")+`]}`)
		return res.status, text
	}
	word := `{"op": "reserve", "namespace": "acme.word", "value": "admin", "overrideReserved": true}`
	if status, text := apply(`{"op": "reserve", "namespace": "acme.mill", "value": "a", "ttlMs": 1000}`, word); status != http.StatusOK {
		t.Error(status, text)
	}
	if status, text := apply(strings.ReplaceAll(word, "acme.word", "acme.eu.word")); status != http.StatusUnprocessableEntity || !strings.Contains(text, "RESERVED_WORD") {
		t.Error(status, text)
	}
}

// releases returns a list with one reserve, and n releases of unknown ids.
func releases(n int) string {
	ops := []string{`{"op": "reserve", "namespace": "acme.slug", "value": "a"}`}
	for i := range n {
		id := dibs.NameID("acme.slug", "none-"+strconv.Itoa(i)).String()
		ops = append(ops, `{"op": "release", "reservationId": "`+id+`", "token": "`+someToken+`"}`)
	}
	return `{"dryRun": true, "commands": [` + strings.Join(ops, ", ") + `]}`
}

// The time for a list is linear in its length, for unknown ids too.
func TestListTakesLinearTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, tenants)
	body := releases(31)
	eventually(t, "32 commands take 50 ms at most", func() bool { // now and then the machine is busy
		begin := time.Now()
		res, text := r.send(http.MethodPost, "/v1/apply", http.Header{"Authorization": {"Bearer acme"}}, body)
		if res.status != http.StatusNotFound && res.status != http.StatusConflict {
			t.Fatal(res.status, text)
		}
		return time.Since(begin) < 50*time.Millisecond
	})
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8, 16, 32} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			r := newRig(b, inMemory, tenants)
			body := releases(n - 1)
			for b.Loop() {
				r.send(http.MethodPost, "/v1/apply", http.Header{"Authorization": {"Bearer acme"}}, body)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/command")
		})
	}
}

// The problem of a list has the index of each command that fails.
func TestListNamesWhatFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, tenants)
	_, text := r.send(http.MethodPost, "/v1/apply", http.Header{"Authorization": {"Bearer acme"}}, releases(2))
	var problem struct{ Errors []struct{ Index int } }
	if err := json.Unmarshal([]byte(text), &problem); err != nil || len(problem.Errors) != 2 || problem.Errors[1].Index != 2 {
		t.Error(text, err)
	}
}
