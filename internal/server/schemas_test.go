package server

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constants returns the values of all constants of a type of the root package.
func constants(t *testing.T, name string) (values []string) {
	t.Helper()
	packages, err := parser.ParseDir(token.NewFileSet(), "../..", nil, 0) //nolint:staticcheck // types are not needed
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(packages["dibs"], func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == name && len(spec.Values) == 1 {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, text)
		}
		return true
	})
	return values
}

// The values in the API are those of the library, and the server's own codes are all documented.
func TestEnums(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/server.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(docs), "The server has some codes of its own:")
	table, _, _ = strings.Cut(table, "```")
	var documented []string
	for _, m := range regexp.MustCompile("`([A-Z_]+)`").FindAllStringSubmatch(table, -1) {
		documented = append(documented, m[1])
	}
	sorted := func(values []string) []string { return slices.Sorted(slices.Values(values)) }
	if !slices.Equal(sorted(documented), sorted(ownCodes)) {
		t.Errorf("docs/server.md has the codes %v, the server %v", sorted(documented), sorted(ownCodes))
	}
	for _, e := range enums {
		want := constants(t, e.name)
		if e.name == "Code" {
			want = append(want, ownCodes...)
		}
		if !slices.Equal(sorted(e.values), sorted(want)) {
			t.Errorf("%s: the API has %v, the library %v", e.name, sorted(e.values), sorted(want))
		}
	}
}

// No schema of a response can be null or one of several without a name: generators make awkward
// types of those.
func TestSchemasAreForGenerators(t *testing.T) {
	t.Parallel()
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(openAPI(t), &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Components.Schemas) < 50 {
		t.Fatalf("only %d schemas", len(document.Components.Schemas))
	}
	inRequests := []string{"CheckNamesInputBody.parts", "Command.reservations", "Command.values", "WebhookRequest.kinds", "WebhookRequest.namespaces"}
	for name, schema := range document.Components.Schemas {
		for member, text := range schema.Properties {
			where := name + "." + member
			if strings.Contains(string(text), `"null"`) && !slices.Contains(inRequests, where) {
				t.Errorf("%s may be null: %s", where, text)
			}
			for _, union := range []string{`"oneOf"`, `"anyOf"`, `"allOf"`} {
				if strings.Contains(string(text), union) {
					t.Errorf("%s is a union without a name: %s", where, text)
				}
			}
		}
	}
}

func openAPI(t *testing.T) []byte {
	t.Helper()
	answer := httptest.NewRecorder()
	New(Config{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://localhost/openapi.json", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	return answer.Body.Bytes()
}

var update = flag.Bool("update", false, "write clients/openapi.json")

// clients/openapi.json is the API as it is: the clients' types are generated from it.
func TestClientsHaveTheAPI(t *testing.T) {
	t.Parallel()
	var document any
	if err := json.Unmarshal(openAPI(t), &document); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	const path = "../../clients/openapi.json"
	if *update {
		if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil || string(stored) != string(text)+"\n" {
		t.Errorf("clients/openapi.json is out of date (%v): run go test ./internal/server -run TestClientsHaveTheAPI -update, and npm run generate in clients/typescript", err)
	}
}
