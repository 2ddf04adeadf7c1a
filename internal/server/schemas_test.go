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

	"github.com/calldibs/dibs/internal/wire"
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
	notRaced(t)
	docs, err := os.ReadFile("../../docs/api.md")
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
		t.Errorf("docs/api.md has the codes %v, the server %v", sorted(documented), sorted(ownCodes))
	}
	for _, e := range enums {
		want := constants(t, e.name)
		switch e.name {
		case "Code":
			want = append(want, ownCodes...)
		case "Op":
			want = wire.Ops()
		case "Verdict":
			want = []string{"exists", "absent"} // a Verdict also has the entity
		case "ConflictReason":
			want = constants(t, "Reason")
			for _, code := range constants(t, "Code") {
				if reason := strings.ToLower(code); !slices.Contains(want, reason) {
					want = append(want, reason)
				}
			}
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
	inRequests := []string{ // a null means the same as nothing
		"CheckNamesInputBody.parts", "Command.reservations", "Command.values", "WebhookRequest.kinds", "WebhookRequest.namespaces"}
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

// Every object and every text with fixed values has a schema with a name, every part is described,
// and every call has examples: of its path, of its request, and of each answer.
func TestDocumentIsForGenerators(t *testing.T) {
	t.Parallel()
	var document map[string]any
	if err := json.Unmarshal(openAPI(t), &document); err != nil {
		t.Fatal(err)
	}
	seen := 0
	eachSchema(document, nil, func(path []string, schema map[string]any) {
		seen++
		where := strings.Join(path, ".")
		named := len(path) == 3 && path[0] == "components" && path[1] == "schemas"
		if schema["type"] == "object" && !named {
			t.Errorf("%s is an object without a name", where)
		}
		for _, union := range []string{"oneOf", "anyOf", "allOf", "not"} {
			if schema[union] != nil {
				t.Errorf("%s is a union", where)
			}
		}
		if named && schema["description"] == nil {
			t.Errorf("%s has no description: add one to texts.go", where)
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			if property.(map[string]any)["description"] == nil {
				t.Errorf("%s.%s has no description: add one to texts.go", where, name)
			}
			if enumerated(name) && isText(property) {
				t.Errorf("%s.%s is any text: it needs an enum in schemas.go", where, name)
			}
		}
	})
	if seen < 200 {
		t.Errorf("only %d schemas", seen)
	}
	for path, item := range document["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			checkExamples(t, method+" "+path, op.(map[string]any))
		}
	}
}

// enumerated reports whether a member with this name has some fixed values only.
func enumerated(name string) bool {
	return slices.Contains([]string{"state", "status", "reason", "code", "kind", "kinds", "op", "outcome"}, name)
}

// isText reports whether a schema is a text of any kind, or a list of them.
func isText(schema any) bool {
	s := schema.(map[string]any)
	if items, ok := s["items"]; ok {
		return isText(items)
	}
	return s["type"] == "string"
}

// eachSchema calls fn with every schema of the document. Examples are no schemas.
func eachSchema(v any, path []string, fn func(path []string, schema map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if _, typed := v["type"]; typed || v["$ref"] != nil || v["properties"] != nil {
			fn(path, v)
		}
		for key, value := range v {
			if key != "examples" && key != "example" {
				eachSchema(value, append(slices.Clone(path), key), fn)
			}
		}
	case []any:
		for i, value := range v {
			eachSchema(value, append(slices.Clone(path), strconv.Itoa(i)), fn)
		}
	}
}

// checkExamples demands examples of all parts of a call.
func checkExamples(t *testing.T, call string, op map[string]any) {
	t.Helper()
	content := func(where string, body any) {
		for mediaType, media := range body.(map[string]any)["content"].(map[string]any) {
			if list, _ := media.(map[string]any)["examples"].(map[string]any); len(list) == 0 {
				t.Errorf("%s: %s has no example of %s: add one to testdata/examples.http", call, where, mediaType)
			}
		}
	}
	if body := op["requestBody"]; body != nil {
		content("the request", body)
	}
	for status, response := range op["responses"].(map[string]any) {
		content("the answer "+status, response)
	}
	list, _ := op["parameters"].([]any)
	for _, p := range list {
		p := p.(map[string]any)
		if p["required"] == true && p["example"] == nil {
			t.Errorf("%s: the parameter %v has no example", call, p["name"])
		}
		if p["description"] == nil {
			t.Errorf("%s: the parameter %v has no description", call, p["name"])
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
