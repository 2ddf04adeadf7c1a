// Package exactjson finds JSON that readers can disagree about. RFC 8259 leaves open what
// an object means that has a member twice, and encoding/json fills a field "iss" from a
// member "ISS" as well, whichever comes last. Where one reader checks and another one
// uses, that is a way past the check.
package exactjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// ErrTwice is for an object that has a member twice.
var ErrTwice = errors.New("a member is there twice")

// Object reads an object that has no member twice, however deep. Names are compared
// byte by byte, after escapes are resolved.
func Object(data []byte) (map[string]any, error) {
	if err := Unique(data); err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("it is null, and must be an object")
	}
	return object, nil
}

// Unique returns [ErrTwice] if an object in a JSON text has a member twice, however deep,
// and another error if the text is no JSON.
func Unique(data []byte) error {
	if !json.Valid(data) {
		return errors.New("it is no JSON")
	}
	var open []map[string]bool // for each object around, the names so far; nil for a list
	naming := false            // the next text is the name of a member
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{':
			open, naming = append(open, make(map[string]bool)), true
		case '[':
			open, naming = append(open, nil), false
		case '}', ']':
			open = open[:len(open)-1]
		case ',':
			naming = open[len(open)-1] != nil
		case '"':
			end := endOfText(data, i)
			if naming {
				name, names := unquote(data[i:end]), open[len(open)-1]
				if names[name] {
					return ErrTwice
				}
				names[name], naming = true, false
			}
			i = end - 1
		}
	}
	return nil
}

// endOfText returns where the text ends that begins at a quote.
func endOfText(data []byte, begin int) int {
	for i := begin + 1; ; i++ {
		switch data[i] {
		case '\\':
			i++ // whatever it is, it does not end the text
		case '"':
			return i + 1
		}
	}
}

// unquote returns what a text in quotes says, exactly as encoding/json reads it.
func unquote(quoted []byte) string {
	if inner := quoted[1 : len(quoted)-1]; !bytes.ContainsRune(inner, '\\') && utf8.Valid(inner) {
		return string(inner)
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // it is valid
	return text
}

// Variant reports whether a name is another spelling of one of these: equal but for case,
// by the folding of encoding/json, to which "iſs" is "iss" too.
func Variant(name string, names ...string) bool {
	variant := false
	for _, exact := range names {
		if name == exact {
			return false
		}
		variant = variant || strings.EqualFold(name, exact)
	}
	return variant
}

// HasVariant reports whether an object has a member that is a [Variant] of one of these
// names, alone or beside it.
func HasVariant(object map[string]any, names ...string) bool {
	for member := range object {
		if Variant(member, names...) {
			return true
		}
	}
	return false
}
