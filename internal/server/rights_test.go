package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/webhook"
	"github.com/calldibs/dibs/internal/wire"
)

// call is a request, and the right that it takes, written by hand.
type call struct {
	request string // method and path
	body    string
	verbs   []access.Verb
	place   string // a namespace; "scope acme" for an entity's; "id acme.slug", "hook acme.slug" and "key acme.slug" if only the record has it; "everywhere"; "anywhere"
}

// someID is the id of an existing reservation in acme.slug.
var someID = dibs.NameID("acme.slug", "held").String()

const someToken = "0123456789abcdef"

// calls are all calls of the API, each about acme.
var calls = []call{
	{"POST /v1/reservations", `{"namespace": "acme.slug", "value": "held"}`, verbs(access.Reserve), "acme.slug"},
	{"POST /v1/reservations/batch", `{"reservations": [{"namespace": "acme.slug", "value": "held"}]}`, verbs(access.Reserve), "acme.slug"},
	{"POST /v1/reservations/first", `{"namespace": "acme.slug", "values": ["held"]}`, verbs(access.Reserve), "acme.slug"},
	{"GET /v1/reservations/ID", ``, verbs(access.Get), "id acme.slug"},
	{"POST /v1/reservations/ID/extend", `{"token": "guessedguessedguessed"}`, verbs(access.Extend), "id acme.slug"},
	{"POST /v1/reservations/ID/confirm", `{"token": "guessedguessedguessed", "entity": ENTITY}`, verbs(access.Confirm), "id acme.slug"},
	{"POST /v1/reservations/ID/confirm", `{"token": "guessedguessedguessed", "entity": ENTITY, "replace": true}`, verbs(access.Confirm, access.Rename), "id acme.slug"},
	{"POST /v1/reservations/ID/confirm", `{"token": "guessedguessedguessed", "entity": ENTITY, "replaces": "old"}`, verbs(access.Confirm, access.Rename), "id acme.slug"},
	{"POST /v1/reservations/ID/release", `{"token": "guessedguessedguessed"}`, verbs(access.Release), "id acme.slug"},
	{"POST /v1/reservations/ID/settle", `{"outcome": "absent"}`, verbs(access.Settle), "id acme.slug"},
	{"POST /v1/claims", `{"namespace": "acme.slug", "value": "held", "entity": ENTITY}`, verbs(access.Claim), "acme.slug"},
	{"POST /v1/imports", `{"names": [{"namespace": "acme.slug", "value": "held", "entity": ENTITY}]}`, verbs(access.Import), "acme.slug"},
	{"GET /v1/names/acme.slug/held", ``, verbs(access.Get), "acme.slug"},
	{"POST /v1/names/lookup", `{"namespace": "acme.slug", "value": "held"}`, verbs(access.Get), "acme.slug"},
	{"GET /v1/names?namespace=acme.slug", ``, verbs(access.List), "acme.slug"},
	{"GET /v1/names", ``, verbs(access.List), "everywhere"},
	{"GET /v1/names/acme.slug/held/history", ``, verbs(access.History), "acme.slug"},
	{"POST /v1/names/history", `{"namespace": "acme.slug", "value": "held"}`, verbs(access.History), "acme.slug"},
	{"GET /v1/check/acme.slug/held", ``, verbs(access.Check), "acme.slug"},
	{"POST /v1/check", `{"namespace": "acme.slug", "values": ["held"]}`, verbs(access.Check), "acme.slug"},
	{"POST /v1/check", `{"namespace": "acme.slug", "values": ["1","2","3","4","5","6","7","8","9","10","11"]}`, verbs(access.Check, access.Bulk), "acme.slug"},
	{"GET /v1/resolve/acme.slug/held", ``, verbs(access.Resolve), "acme.slug"},
	{"GET /v1/resolve?namespace=acme.slug", ``, verbs(access.Resolve), "acme.slug"},
	{"POST /v1/resolve/acme.slug/held", ``, verbs(access.Resolve), "acme.slug"},
	{"POST /v1/resolve", `{"namespace": "acme.slug", "value": "held"}`, verbs(access.Resolve), "acme.slug"},
	{"GET /v1/entities/t/none?scope=acme", ``, verbs(access.Get), "scope acme"},
	{"GET /v1/entities/t/none", ``, verbs(access.Get), "scope "},
	{"DELETE /v1/entities/t/none?scope=acme", ``, verbs(access.Delete), "scope acme"},
	{"POST /v1/entities/t/none/archive?scope=acme", ``, verbs(access.Archive), "scope acme"},
	{"POST /v1/entities/t/none/restore?scope=acme", ``, verbs(access.Restore), "scope acme"},
	{"PUT /v1/entities/t/none/names/acme.slug", `{"value": "held"}`, verbs(access.Rename), "acme.slug"},
	{"POST /v1/names/acme.slug/none/decommission", `{"entity": ENTITY}`, verbs(access.Decommission), "acme.slug"},
	{"POST /v1/names/acme.slug/none/transfer", `{"from": ENTITY, "to": {"type": "t", "id": "other"}}`, verbs(access.Transfer), "acme.slug"},
	{"POST /v1/swap", `{"namespace": "acme.slug", "a": {"value": "x", "entity": ENTITY}, "b": {"value": "x", "entity": ENTITY}}`, verbs(access.Swap), "acme.slug"},
	{"GET /v1/events?namespace=acme.slug", ``, verbs(access.Events), "acme.slug"},
	{"GET /v1/events", ``, verbs(access.Events), "everywhere"},
	{"GET /v1/stats/conflicts?namespace=acme.slug", ``, verbs(access.Stats), "acme.slug"},
	{"GET /v1/stats/conflicts", ``, verbs(access.Stats), "everywhere"},
	{"GET /v1/stats/activity?namespace=acme.slug", ``, verbs(access.Stats), "acme.slug"},
	{"GET /v1/stats/activity?bucket=hour", ``, verbs(access.Stats), "everywhere"},
	{"GET /v1/stats", ``, verbs(access.Stats), "everywhere"},
	{"POST /v1/search", `{"text": "held"}`, verbs(access.Get), "anywhere"},
	{"GET /v1/stats/contested?namespace=acme.slug", ``, verbs(access.Stats), "acme.slug"},
	{"GET /v1/stats/contested", ``, verbs(access.Stats), "everywhere"},
	{"GET /v1/me", ``, verbs(), "anywhere"},
	{"GET /v1/server", ``, verbs(access.Stats), "anywhere"},
	{"GET /v1/policies", ``, verbs(access.Check), "anywhere"},
	{"GET /metrics", ``, verbs(access.Stats), "everywhere"},
	{"POST /v1/sweep", `{"limit": 1}`, verbs(access.Sweep), "everywhere"},
	{"POST /v1/recanonicalize", `{"namespace": "acme.slug", "dryRun": true}`, verbs(access.Recanonicalize), "acme.slug"},
	{"POST /v1/forget", `{"scope": "acme", "entity": ENTITY}`, verbs(access.Forget), "scope acme"},
	{"POST /v1/forget", `{"entity": ENTITY}`, verbs(access.Forget), "scope "},
	{"POST /v1/forget", `{"namespace": "acme.slug", "value": "none"}`, verbs(access.Forget), "acme.slug"},

	{"POST /v1/webhooks", `{"url": "https://localhost:1/", "namespaces": ["acme.slug"], "enabled": false}`, verbs(access.Webhooks, access.Events), "acme.slug"},
	{"POST /v1/webhooks", `{"url": "https://localhost:1/", "namespaces": ["acme.*"], "enabled": false}`, verbs(access.Webhooks, access.Events), "scope acme"},
	{"POST /v1/webhooks", `{"url": "https://localhost:1/", "namespaces": ["*"], "enabled": false}`, verbs(access.Webhooks, access.Events), "everywhere"},
	{"GET /v1/webhooks", ``, verbs(access.Webhooks), "anywhere"},
	{"GET /v1/webhooks/HOOK", ``, verbs(access.Webhooks, access.Events), "hook acme.slug"},
	{"PATCH /v1/webhooks/HOOK", `{}`, verbs(access.Webhooks, access.Events), "hook acme.slug"},
	{"POST /v1/webhooks/HOOK/rotate", `{}`, verbs(access.Webhooks, access.Events), "hook acme.slug"},
	{"POST /v1/webhooks/HOOK/test", ``, verbs(access.Webhooks, access.Events), "hook acme.slug"},
	{"GET /v1/webhooks/HOOK/deadletters", ``, verbs(access.Webhooks, access.Events), "hook acme.slug"},
	{"DELETE /v1/webhooks/HOOK/deadletters", ``, verbs(access.Webhooks, access.Events), "hook acme.slug"},
	{"POST /v1/webhooks/HOOK/deadletters/resend", ``, verbs(access.Webhooks, access.Events), "hook acme.slug"},
	{"GET /v1/webhooks/HOOK/deadletters/none", ``, verbs(access.Webhooks, access.Events), "hook acme.slug"},
	{"DELETE /v1/webhooks/HOOK/deadletters/none", ``, verbs(access.Webhooks, access.Events), "hook acme.slug"},
	{"POST /v1/webhooks/HOOK/deadletters/none/resend", ``, verbs(access.Webhooks, access.Events), "hook acme.slug"},
	{"DELETE /v1/webhooks/LAST", ``, verbs(access.Webhooks, access.Events), "hook acme.slug"},

	{"POST /v1/keys", `{"name": "made", "grants": [{"verbs": ["keys"], "namespaces": ["acme.slug"]}]}`, verbs(access.Keys), "acme.slug"},
	{"POST /v1/keys", `{"name": "made", "grants": [{"verbs": ["get", "confirm"], "namespaces": ["acme.slug"]}]}`, verbs(access.Keys, access.Get, access.Confirm), "acme.slug"},
	{"POST /v1/keys", `{"name": "made", "grants": [{"verbs": ["watch"], "namespaces": ["acme.*"]}]}`, verbs(access.Keys, access.Watch), "scope acme"},
	{"POST /v1/keys", `{"name": "made", "grants": [{"verbs": ["all"], "namespaces": ["*"]}]}`, verbs(access.Keys, access.All), "everywhere"},
	{"GET /v1/keys", ``, verbs(access.Keys), "anywhere"},
	{"DELETE /v1/keys/KEY", ``, verbs(access.Keys), "key acme.slug"},

	{"POST /v1/apply", `{"op": "reserve", "namespace": "acme.slug", "value": "held"}`, verbs(access.Reserve), "acme.slug"},
	{"POST /v1/apply", `{"op": "reserveAll", "reservations": [{"namespace": "acme.slug", "value": "held"}]}`, verbs(access.Reserve), "acme.slug"},
	{"POST /v1/apply", `{"op": "reserveFirst", "namespace": "acme.slug", "values": ["held"]}`, verbs(access.Reserve), "acme.slug"},
	{"POST /v1/apply", `{"op": "extend", "reservationId": "ID", "token": "guessedguessedguessed"}`, verbs(access.Extend), "id acme.slug"},
	{"POST /v1/apply", `{"op": "confirm", "reservationId": "ID", "token": "guessedguessedguessed", "entity": ENTITY}`, verbs(access.Confirm), "id acme.slug"},
	{"POST /v1/apply", `{"op": "confirm", "reservationId": "ID", "token": "guessedguessedguessed", "entity": ENTITY, "replace": true}`, verbs(access.Confirm, access.Rename), "id acme.slug"},
	{"POST /v1/apply", `{"op": "confirm", "reservationId": "ID", "token": "guessedguessedguessed", "entity": ENTITY, "replaces": "old"}`, verbs(access.Confirm, access.Rename), "id acme.slug"},
	{"POST /v1/apply", `{"op": "release", "reservationId": "ID", "token": "guessedguessedguessed"}`, verbs(access.Release), "id acme.slug"},
	{"POST /v1/apply", `{"op": "claim", "namespace": "acme.slug", "value": "held", "entity": ENTITY}`, verbs(access.Claim), "acme.slug"},
	{"POST /v1/apply", `{"op": "import", "namespace": "acme.slug", "value": "held", "entity": ENTITY}`, verbs(access.Import), "acme.slug"},
	{"POST /v1/apply", `{"op": "rename", "namespace": "acme.slug", "value": "held", "entity": ENTITY}`, verbs(access.Rename), "acme.slug"},
	{"POST /v1/apply", `{"op": "archive", "scope": "acme", "entity": ENTITY}`, verbs(access.Archive), "scope acme"},
	{"POST /v1/apply", `{"op": "restore", "scope": "acme", "entity": ENTITY}`, verbs(access.Restore), "scope acme"},
	{"POST /v1/apply", `{"op": "delete", "scope": "acme", "entity": ENTITY}`, verbs(access.Delete), "scope acme"},
	{"POST /v1/apply", `{"op": "decommission", "namespace": "acme.slug", "value": "none", "entity": ENTITY}`, verbs(access.Decommission), "acme.slug"},
	{"POST /v1/apply", `{"op": "transfer", "namespace": "acme.slug", "value": "none", "from": ENTITY, "to": {"type": "t", "id": "other"}}`, verbs(access.Transfer), "acme.slug"},
	{"POST /v1/apply", `{"op": "swap", "namespace": "acme.slug", "a": {"value": "x", "entity": ENTITY}, "b": {"value": "x", "entity": ENTITY}}`, verbs(access.Swap), "acme.slug"},
	{"POST /v1/apply", `{"op": "settle", "reservationId": "ID", "outcome": "absent"}`, verbs(access.Settle), "id acme.slug"},
	{"POST /v1/apply", `{"op": "rekey", "namespace": "acme.slug", "value": "held"}`, verbs(access.Rekey), "acme.slug"},
}

func verbs(list ...access.Verb) []access.Verb { return list }

// allowed is the oracle: what a caller may do, by package access.
func (c call) allowed(caller access.Caller) bool {
	for _, v := range c.verbs {
		scope, ofScope := strings.CutPrefix(c.place, "scope ")
		namespace := c.place[strings.IndexByte(c.place, ' ')+1:]
		switch {
		case c.place == "anywhere":
			return caller.MaySomewhere(v)
		case ofScope && !caller.MayInScope(v, scope):
			return false
		case !ofScope && c.place == "everywhere" && !caller.May(v, ""):
			return false
		case !ofScope && c.place != "everywhere" && !caller.May(v, namespace):
			return false
		}
	}
	return true
}

// hidden reports whether a refusal must look like a missing record: the caller has the right
// somewhere, and must not learn whether the id exists elsewhere. For a webhook only the first
// right is checked before the webhook is read.
func (c call) hidden(caller access.Caller) bool {
	asked := c.verbs
	if strings.HasPrefix(c.place, "hook ") {
		asked = asked[:1]
	}
	for _, v := range asked {
		if !caller.MaySomewhere(v) {
			return false
		}
	}
	return c.hiding() != ""
}

// hiding returns the code of a missing record; empty if the call does not hide.
func (c call) hiding() string {
	switch place, _, _ := strings.Cut(c.place, " "); place {
	case "id":
		return "RESERVATION_NOT_FOUND"
	case "hook":
		return "WEBHOOK_NOT_FOUND"
	case "key":
		return "KEY_NOT_FOUND"
	default:
		return ""
	}
}

// keyOfMatrix is the name of an API key for acme.slug.
const keyOfMatrix = "revocable"

// hookIDs are the ids of the webhooks of the matrix, by placeholder.
type hookIDs map[string]string

// restore recreates removed webhooks and keys: a call of the matrix removes the last one.
func (s hookIDs) restore(r *rig) {
	r.Helper()
	for _, name := range []string{keyOfMatrix, "made"} {
		grants := []access.Grant{{Verbs: verbs(access.Get), Namespaces: []string{"acme.slug"}}}
		_, _, err := r.server.cfg.Keys.Create(r.Context(), auth.Key{Name: name, Grants: grants})
		if err != nil && !errors.Is(err, auth.ErrKeyNameTaken) {
			r.Fatal(err)
		}
	}
	for _, name := range []string{"HOOK", "LAST"} {
		if _, err := r.server.cfg.Webhooks.Get(r.Context(), s[name]); err == nil {
			continue
		}
		hook := webhook.Hook{URL: "https://localhost:1/", Namespaces: []string{"acme.slug"}}
		made, _, err := r.server.cfg.Webhooks.Create(r.Context(), hook, "")
		if err != nil {
			r.Fatal(err)
		}
		s[name] = made.ID
	}
}

// needsRecords matches the calls that are about a webhook or a key of the matrix.
var needsRecords = regexp.MustCompile(`HOOK|LAST|KEY|/v1/keys`)

func (c call) send(r *rig, header http.Header, hooks hookIDs) (status int, code string) {
	r.Helper()
	if len(hooks) == 0 || needsRecords.MatchString(c.request) {
		hooks.restore(r)
	}
	method, path, _ := strings.Cut(c.request, " ")
	body := c.body
	if strings.HasPrefix(body, `{"op"`) {
		body = `{"dryRun": true, "commands": [` + body + `]}`
	}
	fill := strings.NewReplacer("ID", someID, "ENTITY", `{"type": "t", "id": "none"}`, "HOOK", hooks["HOOK"], "LAST", hooks["LAST"], "KEY", keyOfMatrix)
	res, text := r.send(method, fill.Replace(path), header, fill.Replace(body))
	var problem struct{ Code string }
	if res.header.Get("Content-Type") == problemType {
		if err := json.Unmarshal([]byte(text), &problem); err != nil {
			r.Fatal(err)
		}
	}
	return res.status, problem.Code
}

// Every verb and group alone, with every kind of pattern, against every call.
func TestRightsMatrix(t *testing.T) {
	t.Parallel()
	notRaced(t)
	granted := append(access.Groups(), access.Verbs()...)
	patterns := []string{"acme.slug", "acme.*", "*", "globex.*"}
	callers := map[string]access.Caller{
		"owner": {Name: "owner", Grants: []access.Grant{{Verbs: verbs(access.All), Namespaces: []string{"*"}}}},
		"none":  {Name: "none"},
	}
	grant := func(v access.Verb, pattern string) access.Grant {
		return access.Grant{Verbs: verbs(v), Namespaces: []string{pattern}}
	}
	// Two rights of one call, in the same and in different namespaces.
	for _, elsewhere := range []string{"acme.slug", "acme.other", "globex.*"} {
		callers["confirm, rename "+elsewhere] = access.Caller{Name: "other", Grants: []access.Grant{grant(access.Confirm, "acme.slug"), grant(access.Rename, elsewhere)}}
		callers["rename, confirm "+elsewhere] = access.Caller{Name: "other", Grants: []access.Grant{grant(access.Rename, "acme.slug"), grant(access.Confirm, elsewhere)}}
	}
	for _, g := range granted {
		for _, p := range patterns {
			callers[string(g)+" "+p] = access.Caller{Name: "other", Grants: []access.Grant{grant(g, p)}}
		}
	}
	r := newRig(t, inMemory, callers)
	r.client.Transport = direct{r.server}
	header := http.Header{"Authorization": {"Bearer owner"}, "Idempotency-Key": {someToken}}
	if res, text := r.send(http.MethodPost, "/v1/reservations", header, `{"namespace": "acme.slug", "value": "held"}`); res.status != http.StatusCreated {
		t.Fatal(text)
	}
	hooks := make(hookIDs)
	denied := 0
	for key, caller := range callers {
		if key == "owner" {
			continue // it owns the reservation
		}
		for _, c := range calls {
			status, code := c.send(r, http.Header{"Authorization": {"Bearer " + key}}, hooks)
			var wrong bool
			switch {
			case c.allowed(caller):
				wrong = status == http.StatusForbidden || status == http.StatusUnauthorized || code != "" && code == c.hiding()
			case c.hidden(caller):
				wrong = code != c.hiding()
				denied++
			default:
				wrong = code != "FORBIDDEN" || status != http.StatusForbidden
				denied++
			}
			if wrong {
				t.Errorf("a key with %s: %s %s is %d %s, allowed: %v", key, c.request, c.body, status, code, c.allowed(caller))
			}
		}
	}
	if got := r.denied(); got != float64(denied) {
		t.Errorf("%v were denied, want %d", got, denied)
	}
	t.Logf("%d keys, %d calls, %d denied", len(callers)-1, (len(callers)-1)*len(calls), denied)
}

// A caller cannot see which namespaces of others are blind: every call has the same response for
// a blind one as for a plain one.
func TestForeignPoliciesDoNotShow(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, map[string]access.Caller{
		"acme": {Name: "acme", Grants: []access.Grant{{Verbs: verbs(access.All), Namespaces: []string{"acme.*"}}}},
	})
	hooks := make(hookIDs)
	tried := 0
	for _, c := range calls {
		if !strings.Contains(c.request+c.body, "acme.slug") {
			continue
		}
		about := func(namespace string) string {
			moved := c
			moved.request, moved.body = strings.ReplaceAll(c.request, "acme.slug", namespace), strings.ReplaceAll(c.body, "acme.slug", namespace)
			status, code := moved.send(r, http.Header{"Authorization": {"Bearer acme"}}, hooks)
			return fmt.Sprint(status, " ", code)
		}
		plain, blind := about("globex.slug"), about("globex.secret")
		if plain != blind || plain != "403 FORBIDDEN" {
			t.Errorf("%s %s is %s about a plain namespace, and %s about a blind one", c.request, c.body, plain, blind)
		}
		tried++
	}
	if tried < 30 {
		t.Errorf("only %d calls name a namespace", tried)
	}
}

// The matrix has every operation of the document and every op.
func TestMatrixIsComplete(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, nil)
	doc := readDocument(r)
	missing := make(map[string]bool)
	for path, methods := range doc.Paths {
		for method := range methods {
			missing[strings.ToUpper(method)+" "+path] = true
		}
	}
	for _, op := range doc.Components.Schemas["Op"].(map[string]any)["enum"].([]any) {
		missing[fmt.Sprintf("{%q: %q,", "op", op)] = true
	}
	for _, c := range calls {
		method, path, _ := strings.Cut(c.request, " ")
		req, err := http.NewRequest(method, r.http.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, route := r.server.mux.Handler(req)
		delete(missing, route)
		for op := range missing {
			if strings.HasPrefix(c.body, op) {
				delete(missing, op)
			}
		}
	}
	for route := range missing {
		t.Errorf("%s is not in the matrix", route)
	}
}

// A call about a whole entity that is refused says which right it needs, where, and where the caller has it.
func TestRefusalOfAWholeEntity(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, map[string]access.Caller{"key": {Name: "support", Grants: []access.Grant{
		{Verbs: []access.Verb{access.Read}, Namespaces: []string{"slug", "acme.slug"}},
	}}})
	for path, want := range map[string]string{
		"/v1/entities/user/42":            `needs the right \"get\" in '*'; this caller has it only in slug, acme.slug`,
		"/v1/entities/user/42?scope=acme": `needs the right \"get\" in 'acme.*'; this caller has it only in slug, acme.slug`,
	} {
		res, text := r.send(http.MethodGet, path, http.Header{"Authorization": {"Bearer key"}}, "")
		if res.status != http.StatusForbidden || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", path, res.status, text, want)
		}
	}
	res, text := r.send(http.MethodDelete, "/v1/entities/user/42", http.Header{"Authorization": {"Bearer key"}}, "")
	if want := `needs the right \"delete\" in '*'; this caller has it nowhere`; res.status != http.StatusForbidden || !strings.Contains(text, want) {
		t.Errorf("%d %s, want %s", res.status, text, want)
	}
}

// Guessed tokens, and tokens of others, are refused and counted.
func TestGuessesAreCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, scriptCallers)
	send := func(key, path, body string, want int) {
		t.Helper()
		header := http.Header{"Authorization": {"Bearer " + key}, "Idempotency-Key": {someToken}}
		if res, text := r.send(http.MethodPost, path, header, body); res.status != want {
			t.Errorf("%s: %d, want %d: %s", path, res.status, want, text)
		}
	}
	send("key-alice", "/v1/reservations", `{"namespace": "slug", "value": "a"}`, http.StatusCreated)
	id := dibs.NameID("slug", "a").String()
	send("key-alice", "/v1/reservations/"+id+"/release", `{"token": "guessedguessedguessed"}`, http.StatusConflict)
	send("key-bob", "/v1/reservations/"+id+"/release", `{"token": "0123456789abcdef"}`, http.StatusConflict)
	send("key-bob", "/v1/reservations/"+id+"/confirm", `{"token": "0123456789abcdef", "entity": {"type": "t", "id": "1"}}`, http.StatusConflict)
	send("no-such-key", "/v1/reservations/"+id+"/release", `{"token": "0123456789abcdef"}`, http.StatusUnauthorized)
	for metric, want := range map[string]float64{
		`dibs_commands_total{outcome="reservation_lost",verb="release"}`: 2,
		`dibs_commands_total{outcome="reservation_lost",verb="confirm"}`: 1,
		`dibs_commands_total{outcome="ok",verb="reserve"}`:               1,
		`dibs_http_denied_total{reason="unknown_key"}`:                   1,
	} {
		if got := r.metric(metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
}

// The right to hold names does not include replacing the name of an entity.
func TestHoldersDoNotReplaceNames(t *testing.T) {
	t.Parallel()
	notRaced(t)
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

// onlyInLists are commands without a call of their own.
var onlyInLists = []string{"rekey"}

// Every command that a list can have has a call, and a case that says which right it takes.
func TestEveryCommandHasACallAndARight(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	var calls []string
	for _, path := range s.api.OpenAPI().Paths {
		for _, call := range []*huma.Operation{path.Post, path.Put, path.Delete} {
			if call != nil {
				calls = append(calls, call.OperationID)
			}
		}
	}
	all := context.WithValue(t.Context(), infoKey{}, &requestInfo{caller: access.Everything})
	for _, op := range wire.Ops() {
		if slices.Contains(calls, op) == slices.Contains(onlyInLists, op) {
			t.Errorf("%s: internal/server/changes.go needs a call of its own, or it belongs to onlyInLists", op)
		}
		command, err := wire.Command{Op: op}.Command()
		if err != nil {
			command, err = wire.Command{Op: op, ReservationID: dibs.NameID("slug", "a").String()}.Command()
		}
		if err != nil {
			t.Fatal(op, err)
		}
		if err := s.mayApply(all, command); err != nil {
			t.Errorf("%s: mayApply does not say which right the command takes: %v", op, err)
		}
	}
}
