package rules

import (
	"encoding/json"
	"fmt"

	"github.com/calldibs/dibs"
)

// readDocument returns the content of one of the registry's own documents, and
// its revision; both are zero where it is absent. One that cannot be read is told as
// an error, with its revision: what that means depends on the kind.
func readDocument[T any](v *view, ref dibs.Ref) (content T, rev uint64, err error) {
	doc, ok := v.get(ref).(*dibs.Document)
	if !ok {
		return content, 0, nil
	}
	content, err = decodeDocument[T](doc)
	return content, doc.Rev, err
}

func decodeDocument[T any](doc *dibs.Document) (content T, _ error) {
	if err := json.Unmarshal(doc.Data, &content); err != nil {
		var empty T // not what was read up to the damage
		return empty, fmt.Errorf("the document %s %q cannot be read: %w", doc.Kind, doc.Label, err)
	}
	return content, nil
}

// writeDocument stores the content of a document.
func writeDocument(v *view, ref dibs.Ref, label string, rev uint64, due dibs.Instant, content any) {
	data, err := json.Marshal(content)
	if err != nil {
		panic(err) // the registry's own plain structs
	}
	v.put(ref, &dibs.Document{Kind: ref.Kind, Scope: ref.Scope, ID: ref.ID, Rev: rev + 1, Label: label, Due: due, Data: data})
}
