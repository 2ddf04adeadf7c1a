package cli

import (
	"encoding/json"
	"errors"
	"fmt"
)

// answer is what a verb has to say: one document for programs, text for people.
type answer struct {
	document any
	text     func(*page)
}

// print writes an answer. In JSON there is one document alone: after a failure, that
// is the problem.
func (s *session) print(a *answer, err error) {
	_, said := errors.AsType[answeredError](err)
	switch {
	case a == nil:
	case !s.json:
		a.text(&page{out: s.Stdout, now: s.Now()})
	case err == nil || said:
		s.writeJSON(a.document)
	}
}

// writeJSON writes a document, indented.
func (s *session) writeJSON(document any) {
	encoder := json.NewEncoder(s.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		fmt.Fprintf(s.Stderr, "dibs: writing the answer: %v\n", err)
	}
}
