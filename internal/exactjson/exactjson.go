// Package exactjson detects JSON that two parsers can read differently. RFC 8259 does not
// define the meaning of duplicate members, and encoding/json also fills a field "iss" from a
// member "ISS"; the last one wins. If one parser checks a document and another
// one uses it, an attacker can bypass the check.
package exactjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrDuplicate is the error for an object with a duplicate member.
var ErrDuplicate = errors.New("duplicate member")

// Object parses an object without duplicate members at any depth. Names are compared byte
// by byte, after escapes are resolved.
func Object(data []byte) (map[string]any, error) {
	if err := Unique(data); err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("expected an object, not null")
	}
	return object, nil
}

// Unique returns [ErrDuplicate] if a JSON text has a duplicate member at any depth, and
// another error if the text is not JSON.
func Unique(data []byte) error {
	if !json.Valid(data) {
		return errors.New("not valid JSON")
	}
	var open []map[string]bool // the names so far in each enclosing object; nil for an array
	naming := false            // the next string is the name of a member
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
			end := endOfString(data, i)
			if naming {
				name, names := unquote(data[i:end]), open[len(open)-1]
				if names[name] {
					return ErrDuplicate
				}
				names[name], naming = true, false
			}
			i = end - 1
		}
	}
	return nil
}

// endOfString returns the end of the string that begins with the quote at begin.
func endOfString(data []byte, begin int) int {
	for i := begin + 1; ; i++ {
		switch data[i] {
		case '\\':
			i++ // an escaped character does not end the string
		case '"':
			return i + 1
		}
	}
}

// unquote returns the value of a quoted string, exactly as encoding/json reads it.
func unquote(quoted []byte) string {
	if inner := quoted[1 : len(quoted)-1]; !bytes.ContainsRune(inner, '\\') && utf8.Valid(inner) {
		return string(inner)
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // no error: the JSON is valid
	return text
}

// HasVariant reports whether an object has a member that differs from one of these names
// only in case, by the folding of encoding/json: "iſs" is a variant of "iss", too. A member
// that equals one of the names is not a variant.
func HasVariant(object map[string]any, names ...string) bool {
	for member := range object {
		folds := func(name string) bool { return strings.EqualFold(member, name) }
		if slices.ContainsFunc(names, folds) && !slices.Contains(names, member) {
			return true
		}
	}
	return false
}
