package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// contract are the calls that other programs rely on.
const contract = `
	POST /v1/reservations
	POST /v1/reservations/batch
	POST /v1/reservations/first
	GET /v1/reservations/{reservationId}
	POST /v1/reservations/{reservationId}/extend
	POST /v1/reservations/{reservationId}/confirm
	POST /v1/reservations/{reservationId}/release
	POST /v1/reservations/{reservationId}/settle
	POST /v1/claims
	POST /v1/imports
	GET /v1/names/{namespace}/{value}
	GET /v1/names
	GET /v1/names/{namespace}/{value}/history
	POST /v1/names/lookup
	POST /v1/names/history
	GET /v1/check/{namespace}/{value}
	POST /v1/check
	GET /v1/resolve/{namespace}/{value}
	GET /v1/resolve
	POST /v1/resolve
	POST /v1/resolve/{namespace}/{value}
	GET /v1/entities/{type}/{id}
	PUT /v1/entities/{type}/{id}/names/{namespace}
	POST /v1/entities/{type}/{id}/archive
	POST /v1/entities/{type}/{id}/restore
	DELETE /v1/entities/{type}/{id}
	POST /v1/names/{namespace}/{value}/decommission
	POST /v1/names/{namespace}/{value}/transfer
	POST /v1/swap
	POST /v1/apply
	GET /v1/events
	GET /v1/stats/conflicts
	GET /v1/stats/activity
	POST /v1/search
	GET /v1/stats/contested
	GET /v1/me
	GET /v1/server
	GET /v1/policies
	GET /v1/stats
	POST /v1/sweep
	POST /v1/recanonicalize
	POST /v1/webhooks
	GET /v1/webhooks
	GET /v1/webhooks/{id}
	PATCH /v1/webhooks/{id}
	DELETE /v1/webhooks/{id}
	POST /v1/webhooks/{id}/rotate
	POST /v1/webhooks/{id}/test
	GET /v1/webhooks/{id}/deadletters
	DELETE /v1/webhooks/{id}/deadletters
	POST /v1/webhooks/{id}/deadletters/resend
	GET /v1/webhooks/{id}/deadletters/{letter}
	DELETE /v1/webhooks/{id}/deadletters/{letter}
	POST /v1/webhooks/{id}/deadletters/{letter}/resend
	POST /v1/forget
	POST /v1/keys
	GET /v1/keys
	DELETE /v1/keys/{name}
`

func TestDocument(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, nil)
	doc := readDocument(r)
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Errorf("it is OpenAPI %s, want 3.1", doc.OpenAPI)
	}
	for line := range strings.Lines(strings.TrimSpace(contract)) {
		if route := strings.TrimSpace(line); !hasOperation(doc, route) {
			t.Errorf("%s is not in the document", route)
		}
	}
	var ids []string
	for path, methods := range doc.Paths {
		for method, op := range methods {
			ids = append(ids, op.OperationID)
			if op.OperationID == "" || op.Summary == "" {
				t.Errorf("%s %s has no id or no summary", method, path)
			}
			if !strings.Contains(contract, "\t"+strings.ToUpper(method)+" "+path+"\n") {
				t.Errorf("%s %s is in the document, and not in the test's list", method, path)
			}
		}
	}
	slices.Sort(ids)
	if n := len(ids); len(slices.Compact(ids)) != n {
		t.Errorf("operation ids are not unique: %v", ids)
	}
}

func hasOperation(doc *document, route string) bool {
	_, ok := doc.operation(route)
	return ok
}

// Every reference of the document leads to a schema or an example, and each of those is used.
func TestDocumentReferences(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, nil)
	_, text := r.send(http.MethodGet, "/openapi.json", nil, "")
	var whole map[string]any
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatal(err)
	}
	parts := make(map[string]bool) // and whether each is used
	for _, kind := range []string{"schemas", "examples"} {
		for name := range whole["components"].(map[string]any)[kind].(map[string]any) {
			parts["#/components/"+kind+"/"+name] = false
		}
	}
	walk(whole, func(ref string) {
		if _, there := parts[ref]; !there {
			t.Errorf("%s is missing", ref)
		}
		parts[ref] = true
	})
	for ref, used := range parts {
		if !used {
			t.Errorf("nothing uses %s", ref)
		}
	}
}

// walk calls fn with every $ref.
func walk(v any, fn func(ref string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if ref, ok := value.(string); ok && key == "$ref" {
				fn(ref)
			}
			walk(value, fn)
		}
	case []any:
		for _, value := range v {
			walk(value, fn)
		}
	}
}
