package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// document is the OpenAPI document.
type document struct {
	OpenAPI    string                          `json:"openapi"`
	Paths      map[string]map[string]described `json:"paths"`
	Components struct {
		Schemas map[string]any `json:"schemas"`
	} `json:"components"`

	registry huma.Registry
}

// described is one operation.
type described struct {
	OperationID string `json:"operationId"`
	Summary     string `json:"summary"`
	Parameters  []struct {
		Name     string `json:"name"`
		In       string `json:"in"`
		Required bool   `json:"required"`
		Schema   any    `json:"schema"`
	} `json:"parameters"`
	RequestBody *struct {
		Content map[string]content `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Description string             `json:"description"`
		Content     map[string]content `json:"content"`
	} `json:"responses"`
}

type content struct {
	Schema any `json:"schema"`
}

const schemaPrefix = "#/components/schemas/"

// readDocument fetches the document, and prepares its schemas for validation.
func readDocument(r *rig) *document {
	r.Helper()
	res, text := r.send(http.MethodGet, "/openapi.json", nil, "")
	if res.status != http.StatusOK {
		r.Fatalf("/openapi.json is %d", res.status)
	}
	doc := &document{registry: huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer)}
	if err := json.Unmarshal([]byte(text), doc); err != nil {
		r.Fatal(err)
	}
	for name, schema := range doc.Components.Schemas {
		doc.registry.Map()[name] = schemaFrom(r, schema)
	}
	return doc
}

// operation returns the operation of a route such as "GET /v1/names".
func (d *document) operation(route string) (described, bool) {
	method, path, _ := strings.Cut(route, " ")
	op, ok := d.Paths[path][strings.ToLower(method)]
	return op, ok
}

// schemaFrom reads a schema. An unknown keyword is an error, so that all of the document is checked.
func schemaFrom(tb testing.TB, from any) *huma.Schema {
	tb.Helper()
	s := &huma.Schema{}
	members, ok := from.(map[string]any)
	if !ok {
		tb.Fatalf("a schema is %T", from)
	}
	for keyword, value := range members {
		switch keyword {
		case "description", "examples", "title", "default":
		case "$ref":
			s.Ref = value.(string)
		case "type":
			s.Type, s.Nullable = typeFrom(tb, value)
		case "format":
			s.Format = value.(string)
		case "enum":
			s.Enum = value.([]any)
		case "items":
			s.Items = schemaFrom(tb, value)
		case "properties":
			s.Properties = make(map[string]*huma.Schema)
			for name, property := range value.(map[string]any) {
				s.Properties[name] = schemaFrom(tb, property)
			}
		case "required":
			for _, name := range value.([]any) {
				s.Required = append(s.Required, name.(string))
			}
		case "additionalProperties":
			if allowed, ok := value.(bool); ok {
				s.AdditionalProperties = allowed
			} else {
				s.AdditionalProperties = schemaFrom(tb, value)
			}
		case "minimum":
			s.Minimum = new(value.(float64))
		case "maximum":
			s.Maximum = new(value.(float64))
		case "minLength":
			s.MinLength = new(int(value.(float64)))
		case "maxLength":
			s.MaxLength = new(int(value.(float64)))
		case "maxItems":
			s.MaxItems = new(int(value.(float64)))
		case "maxProperties":
			s.MaxProperties = new(int(value.(float64)))
		default:
			tb.Fatalf("the test does not know the keyword %q of a schema", keyword)
		}
	}
	s.PrecomputeMessages()
	return s
}

// typeFrom reads a type: a word, or a list of a word and "null".
func typeFrom(tb testing.TB, value any) (name string, nullable bool) {
	tb.Helper()
	list, ok := value.([]any)
	if !ok {
		return value.(string), false
	}
	if len(list) != 2 || list[1] != "null" {
		tb.Fatalf("the type is %v", value)
	}
	return list[0].(string), true
}

// validate checks a body.
func (d *document) validate(tb testing.TB, schema any, mode huma.ValidateMode, body string) error {
	tb.Helper()
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		return err
	}
	result := &huma.ValidateResult{}
	huma.Validate(d.registry, schemaFrom(tb, schema), huma.NewPathBuffer(nil, 0), mode, value, result)
	if len(result.Errors) > 0 {
		return fmt.Errorf("%v", result.Errors)
	}
	return nil
}

// checkAnswer compares a response with the document.
func (d *document) checkAnswer(tb testing.TB, route string, res reply, body string) {
	tb.Helper()
	op, ok := d.operation(route)
	if !ok {
		d.checkUndescribed(tb, route, res, body)
		return
	}
	response, ok := op.Responses[fmt.Sprint(res.status)]
	if !ok {
		tb.Errorf("the document knows no answer %d of %s", res.status, op.OperationID)
		return
	}
	mediaType, _, _ := strings.Cut(res.header.Get("Content-Type"), ";")
	media, ok := response.Content[mediaType]
	switch {
	case !ok:
		tb.Errorf("the document knows no %s of %s, %d", mediaType, op.OperationID, res.status)
	case mediaType == "text/event-stream":
	default:
		if err := d.validate(tb, media.Schema, huma.ModeReadFromServer, body); err != nil {
			tb.Errorf("the answer %d of %s is not as documented: %v\n%s", res.status, op.OperationID, err, body)
		}
	}
}

// checkUndescribed checks a response outside of the API: its errors are problems too.
func (d *document) checkUndescribed(tb testing.TB, route string, res reply, body string) {
	tb.Helper()
	if res.status < 400 {
		return
	}
	if got := res.header.Get("Content-Type"); got != problemType {
		tb.Errorf("%s: an error is %s", route, got)
	}
	if err := d.validate(tb, map[string]any{"$ref": schemaPrefix + "Problem"}, huma.ModeReadFromServer, body); err != nil {
		tb.Errorf("%s: not a problem: %v", route, err)
	}
}

// checkRequest compares an accepted request with the document.
func (d *document) checkRequest(tb testing.TB, route, body string) {
	tb.Helper()
	op, ok := d.operation(route)
	if !ok || op.RequestBody == nil || body == "" {
		return
	}
	if err := d.validate(tb, op.RequestBody.Content["application/json"].Schema, huma.ModeWriteToServer, body); err != nil {
		tb.Errorf("%s took a request that is not as documented: %v\n%s", op.OperationID, err, body)
	}
}
