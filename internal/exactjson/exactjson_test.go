package exactjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/exactjson"
)

func TestUnique(t *testing.T) {
	t.Parallel()
	for text, duplicate := range map[string]bool{
		`{}`:                                    false,
		`{"a": 1, "b": [1, {"a": 2}]}`:          false,
		`{"a": 1, "A": 2}`:                      false,
		`[{"a": 1}, {"a": 1}]`:                  false,
		`{"a": {"b": 1}, "c": {"b": 1}}`:        false,
		`{"a": "a", "b": "a"}`:                  false,
		`{"a": 1e999}`:                          false,
		`{"a": "\"a\": ", "b": "{[,"}`:          false,
		`{"a\\": 1, "a": 1}`:                    false,
		"{\"a\xff\": 1, \"a\ufffd\": 1}":        true, // as encoding/json reads them
		`7`:                                     false,
		`{"a": 1, "a": 1}`:                      true,
		`{"a": 1, "\u0061": 2}`:                 true,
		`{"x": [[{"a": {}, "b": 1, "a": {}}]]}`: true,
		`{"a": {"a": 1}, "a": 2}`:               true,
	} {
		if err := exactjson.Unique([]byte(text)); errors.Is(err, exactjson.ErrDuplicate) != duplicate || !duplicate && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, bad := range []string{``, `{`, `{"a"}`, `{"a": 1,}`, `{1: 2}`, `[1}`, `{} {}`, `{}x`, strings.Repeat("[", 1<<20)} {
		if exactjson.Unique([]byte(bad)) == nil {
			t.Errorf("%.20s: no error", bad)
		}
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	if object, err := exactjson.Object([]byte(`{"a": {"b": [1]}}`)); err != nil || len(object) != 1 {
		t.Error(object, err)
	}
	for _, bad := range []string{`null`, `[]`, `"a"`, `{"a": 1, "a": 1}`, `{"a": 1e999}`, `{} ` + `x`, ``} {
		if object, err := exactjson.Object([]byte(bad)); err == nil {
			t.Errorf("%s is parsed as %v", bad, object)
		}
	}
}

func TestVariant(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"iss": false, "aud": false, "other": false, "ISS": true, "Iss": true, "iſs": true, "AUD": true} {
		if got := exactjson.HasVariant(map[string]any{"iss": 1, name: 1}, "iss", "aud"); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if exactjson.HasVariant(map[string]any{"Sub": 1, "sub": 1}, "sub", "Sub") {
		t.Error("one of the names counts as a variant")
	}
}

// FuzzUnique compares with a check on the tokens of encoding/json.
func FuzzUnique(f *testing.F) {
	f.Add(`{"a": [1, {"b": null}], "c": "\ud800"}`)
	f.Add(`{"a": 1, "\u0061": 2}`)
	f.Add(`[{"a\"": {"a": 1, "b": {"a": "\\", "a": ""}}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		err := exactjson.Unique([]byte(text))
		if valid := json.Valid([]byte(text)); valid != (err == nil || errors.Is(err, exactjson.ErrDuplicate)) {
			t.Fatalf("%q: %v", text, err)
		} else if !valid {
			return
		}
		if want := !hasDuplicate(t, json.NewDecoder(strings.NewReader(text))); want != (err == nil) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// hasDuplicate reports whether the next value of a valid text has a duplicate member.
func hasDuplicate(t *testing.T, decoder *json.Decoder) (found bool) {
	t.Helper()
	next := func() json.Token {
		decoder.UseNumber()
		token, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	begin := next()
	if _, nested := begin.(json.Delim); !nested {
		return false
	}
	seen := make(map[json.Token]bool)
	for decoder.More() {
		if begin == json.Delim('{') {
			name := next()
			found = found || seen[name]
			seen[name] = true
		}
		found = hasDuplicate(t, decoder) || found
	}
	next() // the closing bracket
	return found
}
