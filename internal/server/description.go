package server

import (
	"cmp"
	_ "embed" // for the examples
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

const refPrefix = "#/components/schemas/"

// tags describe the groups of calls, in the order of the page.
var tags = []*huma.Tag{
	{Name: tagReservations, Description: "Hold a name for a limited time, and confirm it for the entity that owns it, or release it."},
	{Name: tagNames, Description: "Take, check, resolve and show names, and change who has them."},
	{Name: tagEntities, Description: "What owns names: rename it, delete it softly or for good."},
	{Name: tagCommands, Description: "Several changes in one step."},
	{Name: tagWatching, Description: "The feed of events, and counts."},
	{Name: tagWebhooks, Description: "Have events sent to a URL, signed and in order."},
	{Name: tagOperating, Description: "For operators."},
}

const about = `A registry of names that must belong to one owner: slugs, usernames, emails, tenant codes.

**Reserve** a name: it is held for a few minutes, and the answer has a ` + "`token`" + ` that proves it. **Confirm** it for the entity that owns it, such as user 42, or **release** it; otherwise it expires by itself. After that the name can be renamed, with a redirect from the old one, transferred, archived and given up.

A name is unique in its **namespace**, by its canonical form: ` + "`Alice & Bob`" + ` and ` + "`ALICE + BOB`" + ` are the same slug, ` + "`alice-bob`" + `. An **entity** is a type and an id of your own, such as ` + "`user`" + ` and ` + "`42`" + `.

Every error is a problem document (RFC 9457) with a ` + "`code`" + ` for programs. A call whose result already stands succeeds, with ` + "`\"replayed\": true`" + `.`

// description returns the document of the API: what the API library knows of the calls, and for
// readers and generators of clients more names and examples. It is a copy, so that it does not
// change how requests are checked.
func (s *Server) description() *huma.OpenAPI {
	document := *s.api.OpenAPI()
	document.Tags = tags
	components := *document.Components
	components.Schemas = copySchemas(components.Schemas)
	components.Examples = problemExamples()
	document.Components = &components
	nameSchemas(components.Schemas.Map())
	explain(components.Schemas.Map())
	document.Paths = maps.Clone(document.Paths)
	for path, item := range document.Paths {
		described := *item
		for _, op := range []**huma.Operation{&described.Get, &described.Put, &described.Post, &described.Delete, &described.Patch} {
			if *op != nil {
				*op = describeCall(**op)
			}
		}
		document.Paths[path] = &described
	}
	return &document
}

func copySchemas(from huma.Registry) huma.Registry {
	to := huma.NewMapRegistry(refPrefix, huma.DefaultSchemaNamer)
	for name, schema := range from.Map() {
		to.Map()[name] = copySchema(schema)
	}
	return to
}

func copySchema(from *huma.Schema) *huma.Schema {
	if from == nil {
		return nil
	}
	to := *from
	to.Items = copySchema(from.Items)
	to.Properties = maps.Clone(from.Properties)
	for name, property := range to.Properties {
		to.Properties[name] = copySchema(property)
	}
	return &to
}

// describeCall adds the examples of a call.
func describeCall(op huma.Operation) *huma.Operation {
	examples := recordedExamples().Calls[op.OperationID]
	op.Parameters = slices.Clone(op.Parameters)
	for i, p := range op.Parameters {
		described := *p
		if value, ok := examples.Parameters[p.Name]; ok && p.Required {
			described.Example = value
		}
		described.Description = cmp.Or(p.Description, parameterTexts[p.Name])
		if enum, ok := parameterEnums[op.OperationID+"."+p.Name]; ok {
			described.Schema = &huma.Schema{Ref: refPrefix + enum}
		}
		op.Parameters[i] = &described
	}
	if op.RequestBody != nil {
		body := *op.RequestBody
		body.Content = withExamples(body.Content, func(string) map[string]*huma.Example { return examples.Requests })
		op.RequestBody = &body
	}
	op.Responses = maps.Clone(op.Responses)
	for status, response := range op.Responses {
		described := *response
		described.Content = withExamples(response.Content, func(mediaType string) map[string]*huma.Example {
			if shown := examples.Responses[status][mediaType]; len(shown) > 0 || mediaType != problemType {
				return shown
			}
			name := problemName(status)
			return map[string]*huma.Example{name: {Ref: "#/components/examples/" + name}}
		})
		op.Responses[status] = &described
	}
	return &op
}

func withExamples(content map[string]*huma.MediaType, of func(mediaType string) map[string]*huma.Example) map[string]*huma.MediaType {
	content = maps.Clone(content)
	for mediaType, media := range content {
		described := *media
		described.Examples = of(mediaType)
		content[mediaType] = &described
	}
	return content
}

// examples are requests and answers that a test has recorded on a real server, and compares with it.
type examples struct {
	Calls map[string]callExamples `json:"calls"` // by operation
	// Problems are those that many calls can have, by status.
	Problems map[string]*huma.Example `json:"problems"`
}

// callExamples are the examples of one call. Their names are made of their summaries.
type callExamples struct {
	Parameters map[string]string                              `json:"parameters,omitempty"` // in the path, and required ones
	Requests   map[string]*huma.Example                       `json:"requests,omitempty"`
	Responses  map[string]map[string]map[string]*huma.Example `json:"responses"` // by status and media type
}

//go:embed examples.json
var examplesFile []byte

var recordedExamples = sync.OnceValue(func() (recorded examples) {
	if err := json.Unmarshal(examplesFile, &recorded); err != nil {
		panic(fmt.Sprintf("server: examples.json: %v", err)) // every test finds it
	}
	return recorded
})

func problemExamples() map[string]*huma.Example {
	named := make(map[string]*huma.Example)
	for status, example := range recordedExamples().Problems {
		named[problemName(status)] = example
	}
	return named
}

// problemName returns the name of the example for a status, such as BadRequest.
func problemName(status string) string {
	var code int
	_, _ = fmt.Sscan(status, &code)
	return strings.ReplaceAll(http.StatusText(code), " ", "")
}
