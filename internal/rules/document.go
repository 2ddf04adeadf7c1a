package rules

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/calldibs/dibs"
)

// readDocument returns the content of a document of the registry, and its revision; both are zero
// if it is absent. If it cannot be read, the error comes with the revision; what that means
// depends on the kind.
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
		var empty T // not what was decoded before the error
		return empty, fmt.Errorf("the document %s %q cannot be read: %w", doc.Kind, doc.Label, err)
	}
	return content, nil
}

func writeDocument(v *view, ref dibs.Ref, label string, rev uint64, due dibs.Instant, content any) {
	data, err := json.Marshal(content)
	if err != nil {
		panic(err) // cannot happen: contents are plain structs of this package
	}
	v.put(ref, &dibs.Document{Kind: ref.Kind, Scope: ref.Scope, ID: ref.ID, Rev: rev + 1, Label: label, Due: due, Data: data})
}

// recordID returns the ID of a record that a text identifies.
func recordID(text string) dibs.ID {
	sum := sha256.Sum256([]byte(text))
	return dibs.ID(sum[:len(dibs.ID{})])
}
