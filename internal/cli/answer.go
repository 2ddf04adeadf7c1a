package cli

import (
	"encoding/json"
	"errors"
	"fmt"
)

// answer is the output of a command: a JSON document for programs, text for people.
type answer struct {
	document any
	text     func(*printer)
}

// shown returns the answer for a document of the API, or the error: shown(text)(call(…)).
func shown[T any](text func(*printer, T)) func(T, error) (*answer, error) {
	return converted(func(document T) T { return document }, text)
}

// converted returns the answer for a result, or the error: converted(wire.NameOf, text)(registry.Get(…)).
func converted[T, D any](document func(T) D, text func(*printer, T)) func(T, error) (*answer, error) {
	return func(result T, err error) (*answer, error) {
		if err != nil {
			return nil, err
		}
		return &answer{document(result), func(p *printer) { text(p, result) }}, nil
	}
}

// print writes an answer. With --json there is only one document: after an error, the problem.
func (s *session) print(a *answer, err error) {
	_, printed := errors.AsType[exitError](err)
	switch {
	case a == nil:
	case !s.json:
		a.text(&printer{out: s.Stdout, now: s.Now()})
	case err == nil || printed:
		s.writeJSON(a.document)
	}
}

// writeJSON writes an indented document.
func (s *session) writeJSON(document any) {
	if err := s.encode(document, "  "); err != nil {
		fmt.Fprintf(s.Stderr, "dibs: writing the answer: %v\n", err)
	}
}

// encode writes a document as JSON; on one line if indent is empty.
func (s *session) encode(document any, indent string) error {
	encoder := json.NewEncoder(s.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	return encoder.Encode(document)
}
