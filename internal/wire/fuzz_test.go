package wire_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/calldibs/dibs/internal/wire"
)

// A command in JSON is refused, or is the same when it is written and read again.
func FuzzCommand(f *testing.F) {
	for _, text := range []string{
		`{"op":"reserve","namespace":"slug","value":"alice","ttlMs":60000,"meta":{"k":"v"}}`,
		`{"op":"confirm","reservationId":"rsv_00112233445566778899aabbccddeeff","token":"a-token-of-sixteen","entity":{"type":"user","id":"1"},"replace":true}`,
		`{"op":"swap","namespace":"slug","a":{"value":"x","entity":{"type":"user","id":"1"}},"b":{"value":"y","entity":{"type":"user","id":"2"}}}`,
		`{"op":"archive","type":"user","id":"1","scope":"acme"}`,
		`{"op":"settle","reservationId":"x","outcome":"exists"}`,
		`{"op":"claim","ttlMs":0}`,
		`{}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var read wire.Command
		if json.Unmarshal(data, &read) != nil {
			return
		}
		command, err := read.Command()
		if err != nil {
			return
		}
		written, err := wire.CommandOf(command)
		if err != nil {
			t.Fatalf("%s cannot be written: %v", data, err)
		}
		if again, err := written.Command(); err != nil || !reflect.DeepEqual(again, command) {
			t.Errorf("%s is %+v, and then %+v, %v", data, command, again, err)
		}
	})
}

// A problem of any server or proxy is read without harm, and one of the library stays the same.
func FuzzProblem(f *testing.F) {
	f.Add([]byte(`{"code":"NAME_TAKEN","detail":"slug:a is taken","status":409,"reason":"held","until":"2026-03-01T00:00:00Z","suggestions":["b"]}`))
	f.Add([]byte(`{"code":"INVALID_VALUE","errors":[{"index":3,"code":"INVALID_VALUE"},{"detail":"and more"}],"refusal":{"rule":"x","at":-1}}`))
	f.Add([]byte(`{"code":"UNAVAILABLE","until":"never"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p wire.Problem
		if json.Unmarshal(data, &p) != nil || !wire.IsCode(p.Code) { // others are not of the library
			return
		}
		first := p.DibsError()
		if again := wire.ProblemOf(first).DibsError(); !reflect.DeepEqual(again, first) {
			t.Errorf("%s is %+v, and then %+v", data, first, again)
		}
	})
}
