package wire_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/calldibs/dibs/internal/exactjson"
	"github.com/calldibs/dibs/internal/wire"
)

var reserveBodies = []string{
	`{"namespace": "slug", "value": "alice"}`,
	`{"value":"Jörg & Söhne","namespace":"acme.slug","ttlMs":60000,"entity":{"type":"user","id":"1"}}`,
	"\t{ \"namespace\" :\r\n\"slug\" , \"value\" : \"\" , \"field\":\"f\",\"correlationId\":\"c\" } \n",
	`{"namespace":"slug","value":"a","ttlMs":999999999999999999}`,
	`{"namespace":"slug","value":"a","ttlMs":9999999999999999999}`,
	`{"namespace":"slug","value":"a","token":"0123456789abcdef"}`,
	`{"namespace":"slug","value":"a","token":null}`,
	`{"namespace":"slug","value":"a","token":"0123456789abcdef","token":"0123456789abcdef"}`,
	`{"namespace":"slug","value":"a","ttlMs":0}`,
	`{"namespace":"slug","value":"a","ttlMs":01}`,
	`{"namespace":"slug","value":"a","ttlMs":-1}`,
	`{"namespace":"slug","value":"a","ttlMs":1.5}`,
	`{"namespace":"slug","value":"a","ttlMs":1e3}`,
	`{"namespace":"slug","value":"a","ttlMs":}`,
	`{"namespace":"slug","value":"a","ttlMs":null}`,
	`{"namespace":"slug","value":"a","entity":{}}`,
	`{"namespace":"slug","value":"a","entity":{"type":"user"}}`,
	`{"namespace":"slug","value":"a","entity":{"type":"user","id":"1","id":"2"}}`,
	`{"namespace":"slug","value":"a","entity":null}`,
	`{"namespace":"slug","value":"a","meta":{"a":"b"}}`,
	`{"namespace":"slug","value":"a","overrideReserved":true}`,
	`{"namespace":"slug","value":"a","value":"b"}`,
	`{"namespace":"slug","Value":"a"}`,
	`{"namespace":"slug"}`, `{"value":"a"}`, `{}`, `[]`, `null`, `"a"`, ``, ` `, `{`, `{"namespace`, `{"namespace"`, `{"namespace":`,
	`{"namespace":"slug","value":"a"`, `{"namespace":"slug","value":"a",}`, `{"namespace":"slug","value":"a"} x`,
	`{"namespace":"slug","value":"a"}{}`, `{"namespace":"slug" "value":"a"}`, `{"namespace":"slug","value":1}`,
	`{"namespace":"slug","value":"a\u0062"}`, `{"namespace":"slug","value":"a\"b"}`, "{\"namespace\":\"slug\",\"value\":\"a\nb\"}",
	"{\"namespace\":\"slug\",\"value\":\"a\x00\"}", "{\"namespace\":\"slug\",\"value\":\"\xff\"}", "{\"namespace\":\"slug\",\"value\":\"\x7f\u2028\"}",
	"\ufeff{\"namespace\":\"slug\",\"value\":\"a\"}", "{\"namespace\":\"slug\",\"value\":\"a\"}\x00",
}

// What the quick reader accepts, the decoder reads the same way.
func TestParseReserve(t *testing.T) {
	t.Parallel()
	accepted := 0
	for _, body := range reserveBodies {
		if checkParseReserve(t, []byte(body)) {
			accepted++
		}
	}
	if accepted != 6 {
		t.Errorf("it accepts %d bodies", accepted)
	}
}

func FuzzParseReserve(f *testing.F) {
	for _, body := range reserveBodies {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkParseReserve(t, body) })
}

func checkParseReserve(t *testing.T, body []byte) bool {
	t.Helper()
	quick, token, ok := wire.ParseReserve(body)
	if !ok {
		return false
	}
	members, err := exactjson.Object(body)
	if err != nil {
		t.Errorf("%q is accepted, and is not an exact object: %v", body, err)
	}
	for _, name := range []string{"namespace", "value"} {
		if _, there := members[name]; !there {
			t.Errorf("%q is accepted without %s", body, name)
		}
	}
	var decoded struct {
		wire.Reserve
		Token string
	}
	if err := json.Unmarshal(body, &decoded); err != nil || token != decoded.Token || !reflect.DeepEqual(quick, decoded.Reserve) {
		t.Errorf("%q: %+v with %q, want %+v, %v", body, quick, token, decoded, err)
	}
	return true
}
