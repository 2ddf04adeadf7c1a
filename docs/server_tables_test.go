package docs_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/internal/wire"
	"github.com/calldibs/dibs/memstore"
)

// serverTables returns the labelled tables of docs/server.md.
func serverTables(t *testing.T) map[string][][]string {
	t.Helper()
	return labelledTables(t, readText(t, "docs/server.md"))
}

// fetch returns a page of a new server.
func fetch(t *testing.T, path string) []byte {
	t.Helper()
	store := memstore.New(memstore.Config{})
	registry, err := core.Open(store, dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := registry.Close(); err != nil {
			t.Error(err)
		}
	}()
	answer := httptest.NewRecorder()
	server.New(server.Config{Registry: registry, Store: store}).
		ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.Code != http.StatusOK {
		t.Fatalf("%s: %d, %v", path, answer.Code, err)
	}
	return text
}

func TestServerPageHasEveryCall(t *testing.T) {
	t.Parallel()
	var description struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(fetch(t, "/openapi.json"), &description); err != nil {
		t.Fatal(err)
	}
	var calls, shown []string
	for path, methods := range description.Paths {
		for method := range methods {
			calls = append(calls, strings.ToUpper(method)+" "+path)
		}
	}
	for _, row := range serverTables(t)["calls"] {
		shown = append(shown, quoted(row[0]))
		for _, right := range allQuoted(row[2]) {
			if !slices.Contains(access.Verbs(), access.Verb(right)) {
				t.Errorf("%s needs the right %s, which does not exist", row[0], right)
			}
		}
	}
	sameSet(t, "calls", shown, calls)
}

func TestServerPageHasEveryCode(t *testing.T) {
	t.Parallel()
	var codes, shown []string
	for _, m := range regexp.MustCompile(`Code\w+ +Code = "(\w+)"`).FindAllStringSubmatch(readFiles(t, notTest, "*.go"), -1) {
		codes = append(codes, m[1])
	}
	upper := regexp.MustCompile(`^[A-Z_]+$`)
	for _, row := range serverTables(t)["codes"] {
		for _, code := range allQuoted(row[0]) {
			if !upper.MatchString(code) {
				continue // a member
			}
			shown = append(shown, code)
			if want := strconv.Itoa(wire.StatusOf(dibs.Code(code))); row[1] != want {
				t.Errorf("%s is answered by %s, the page says %s", code, want, row[1])
			}
		}
	}
	sameSet(t, "codes", shown, codes)
}

func TestServerPageHasEveryGroup(t *testing.T) {
	t.Parallel()
	shown := make(map[access.Verb][]string)
	for _, row := range serverTables(t)["groups"] {
		shown[access.Verb(quoted(row[0]))] = allQuoted(row[1])
	}
	if got := slices.Sorted(maps.Keys(shown)); !slices.Equal(got, access.Groups()) {
		t.Errorf("the page has the groups %q, the code %q", got, access.Groups())
	}
	for group, verbs := range shown {
		caller := access.Caller{Grants: []access.Grant{{Verbs: []access.Verb{group}, Namespaces: []string{"*"}}}}
		var may []string
		for _, verb := range access.Verbs() {
			if caller.May(verb, "slug") {
				may = append(may, string(verb))
			}
		}
		if group != access.All { // its row lists only the verbs that are in no other group
			sameSet(t, string(group), verbs, may)
		}
	}
}

func TestServerPageHasEveryMetric(t *testing.T) {
	t.Parallel()
	var shown []string
	for _, row := range serverTables(t)["metrics"] {
		shown = append(shown, quoted(row[0]))
	}
	var metrics []string
	source := readFiles(t, notTest, "internal/server/*.go", "internal/tracing/*.go")
	for _, m := range regexp.MustCompile(`(?:Name: |NewDesc\(|counter\(|gauge\()"(dibs_\w+)"`).FindAllStringSubmatch(source, -1) {
		metrics = append(metrics, m[1])
	}
	sameSet(t, "metrics", shown, metrics)
}
