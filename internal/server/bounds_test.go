package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs/internal/wire"
)

// Every input of a request has a bound in the document.
func TestEveryInputIsBounded(t *testing.T) {
	t.Parallel()
	doc := readDocument(newRig(t, inMemory, nil))
	seen := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			route := strings.ToUpper(method) + " " + path
			for _, p := range op.Parameters {
				seen += doc.wantBounds(t, route+" "+p.In+"."+p.Name, schemaFrom(t, p.Schema))
			}
			if op.RequestBody != nil {
				for _, media := range op.RequestBody.Content {
					seen += doc.wantBounds(t, route+" body", schemaFrom(t, media.Schema))
				}
			}
		}
	}
	if seen < 200 {
		t.Errorf("only %d inputs were checked", seen)
	}
}

// wantBounds fails for each string, list and map without a bound. It returns how many there are.
func (d *document) wantBounds(tb testing.TB, where string, s *huma.Schema) (seen int) {
	tb.Helper()
	for s.Ref != "" {
		s = d.registry.SchemaFromRef(s.Ref)
	}
	want := func(what string, there bool) {
		tb.Helper()
		seen++
		if !there {
			tb.Errorf("%s has no %s", where, what)
		}
	}
	switch s.Type {
	case huma.TypeString:
		want("maxLength", s.MaxLength != nil || len(s.Enum) > 0)
	case huma.TypeArray:
		want("maxItems", s.MaxItems != nil)
		seen += d.wantBounds(tb, where+"[]", s.Items)
	case huma.TypeObject:
		for name, property := range s.Properties {
			seen += d.wantBounds(tb, where+"."+name, property)
		}
		switch values := s.AdditionalProperties.(type) {
		case *huma.Schema:
			want("maxProperties", s.MaxProperties != nil)
			seen += d.wantBounds(tb, where+".*", values)
		default:
			want("additionalProperties: false", values == false)
		}
	case huma.TypeBoolean, huma.TypeInteger:
	default:
		tb.Errorf("%s may be anything", where)
	}
	return seen
}

// filled returns a body of about a megabyte: a repeated part between a head and a tail.
func filled(head, part, tail string) string {
	return head + strings.Repeat(part, (1<<20-len(head)-len(tail)-1)/len(part)) + tail
}

// manyMembers returns distinct members of an object, of about so many bytes.
func manyMembers(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `"m%d":0,`, i)
	}
	return b.String() + `"last":0`
}

// The response to a bad request is small, and so is the work for it. The test runs alone: it
// measures allocations.
func TestBadRequestsAreCheap(t *testing.T) {
	notRaced(t)
	r := newRig(t, onSQLite, nil)
	long := strings.Repeat("<", 500<<10)
	part := `{"namespace":"any","value":"` + strings.Repeat("<", 1024) + `","field":"` + strings.Repeat("\x01", 1000) + `"},`
	part = strings.ReplaceAll(part, "\x01", `\u0001`)
	for _, c := range []struct {
		name, method, path, body string
		header                   http.Header
		status                   int
		code                     string
	}{
		{name: "half a million numbers for values", path: "/v1/check", body: filled(`{"namespace":"slug","values":[0`, ",0", "]}"), status: 422, code: "TOO_LARGE"},
		{name: "as many wrong values as may be", path: "/v1/check", body: `{"namespace":"slug","values":[0` + strings.Repeat(",0", maxValues-10) + `]}`, status: 422, code: "TOO_LARGE"},
		{name: "texts for commands", path: "/v1/apply", body: `{"commands":[""` + strings.Repeat(`,""`, maxValues-10) + `]}`, status: 422, code: "TOO_LARGE"},
		{name: "texts for reservations", path: "/v1/apply", body: `{"commands":[""` + strings.Repeat(`,{"reservations":[""`+strings.Repeat(`,""`, 28)+"]}", 999) + `]}`, status: 422, code: "INVALID_REQUEST"},
		{name: "empty commands", path: "/v1/apply", body: filled(`{"commands":[{}`, ",{}", "]}"), status: 422, code: "TOO_LARGE"},
		{name: "empty reservations", path: "/v1/reservations/batch", body: `{"reservations":[{}` + strings.Repeat(",{}", maxValues/2-10) + `]}`, status: 422, code: "TOO_LARGE"},
		{name: "empty texts", path: "/v1/check", body: filled(`{"namespace":"slug","values":[""`, `,""`, "]}"), status: 422, code: "TOO_LARGE"},
		{name: "unknown members", path: "/v1/check", body: "{" + manyMembers(1<<20-100) + "}", status: 422, code: "TOO_LARGE"},
		{name: "fewer unknown members", path: "/v1/check", body: "{" + manyMembers(200<<10) + "}", status: 422, code: "INVALID_REQUEST"},
		{name: "entries of meta", path: "/v1/claims", body: `{"namespace":"any","value":"v","entity":{"type":"t","id":"1"},"meta":{` + manyMembers(200<<10) + "}}", status: 422, code: "INVALID_REQUEST"},
		{name: "a long unknown member", path: "/v1/check", body: `{"` + long + `":0,"` + long[1:] + `":0}`, status: 422, code: "INVALID_REQUEST"},
		{name: "a long entry of meta", path: "/v1/claims", body: `{"namespace":"any","value":"v","entity":{"type":"t","id":"1"},"meta":{"` + long + `":0}}`, status: 422, code: "INVALID_REQUEST"},
		{name: "a long number", path: "/v1/reservations", body: `{"namespace":"any","value":"v","ttlMs":1` + strings.Repeat("0", 300) + `}`, status: 422, code: "INVALID_REQUEST"},
		{name: "a longer number", path: "/v1/reservations", body: `{"namespace":"any","value":"v","ttlMs":1.` + strings.Repeat("0", 1<<20-100) + `}`, status: 422, code: "INVALID_REQUEST"},
		{name: "a long value", path: "/v1/reservations", body: `{"namespace":"any","value":"` + long + `"}`, status: 422, code: "INVALID_REQUEST"},
		{name: "a long op", path: "/v1/apply", body: `{"commands":[{"op":"` + long + `"}]}`, status: 422, code: "INVALID_REQUEST"},
		{name: "lists in lists", path: "/v1/check", body: strings.Repeat("[", 1<<19), status: 422, code: "TOO_LARGE"},
		{name: "fewer lists in lists", path: "/v1/check", body: strings.Repeat("[", 9000) + strings.Repeat("]", 9000), status: 400, code: "INVALID_REQUEST"},
		{name: "objects in objects", path: "/v1/check", body: strings.Repeat(`{"a":`, 9000) + "0" + strings.Repeat("}", 9000), status: 400, code: "INVALID_REQUEST"},
		{name: "no JSON", path: "/v1/check", body: long, status: 400, code: "INVALID_REQUEST"},
		{name: "query parameters", method: http.MethodGet, path: "/v1/names?" + strings.ReplaceAll(manyMembers(50<<10), `":0,"`, "&"), status: 422, code: "INVALID_REQUEST"},
		{name: "a long query parameter", method: http.MethodGet, path: "/v1/names?" + strings.Repeat("%3C", 20000), status: 422, code: "INVALID_REQUEST"},
		{name: "a long state", method: http.MethodGet, path: "/v1/names?state=" + strings.Repeat("%01", 20000), status: 422, code: "INVALID_VALUE"},
		{name: "a long number in a query", method: http.MethodGet, path: "/v1/names?limit=" + strings.Repeat("9", 60000), status: 422, code: "INVALID_REQUEST"},
		{name: "a long moment", method: http.MethodGet, path: "/v1/stats/conflicts?from=" + strings.Repeat("9", 60000), status: 422, code: "INVALID_REQUEST"},
		{name: "a long scope", method: http.MethodPut, path: "/v1/entities/t/1/names/slug?scope=" + strings.Repeat("%01", 20000), body: `{"value":"v"}`, status: 422, code: "INVALID_NAMESPACE"},
		{name: "a long path", method: http.MethodGet, path: "/v1/names/any/" + strings.Repeat("%01", 20000), status: 422, code: "INVALID_VALUE"},
		{name: "a long content type", path: "/v1/check", header: http.Header{"Content-Type": {"x/" + long[:60000]}}, body: "{}", status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "a long token", path: "/v1/reservations", header: http.Header{"Idempotency-Key": {long[:60000]}}, body: `{"namespace":"any","value":"v"}`, status: 422, code: "INVALID_TOKEN"},
		{name: "a long If-Match", method: http.MethodPut, path: "/v1/entities/t/1/names/any", header: http.Header{"If-Match": {long[:60000]}}, body: `{"value":"v"}`, status: 412, code: "VERSION_MISMATCH"},
		{name: "a long field", path: "/v1/reservations", body: `{"namespace":"word","value":"admin","field":"` + strings.Repeat(`\u0001`, 60000) + `"}`, status: 422, code: "RESERVED_WORD"},
		{name: "long names that are taken", path: "/v1/reservations/batch", body: `{"reservations":[` + batchOf(part) + `]}`, status: 422, code: "INVALID_VALUE"},
		{name: "commands that do not match", path: "/v1/apply", body: `{"commands":[{"op":"claim","namespace":"any","value":"v","entity":{"type":"t","id":"1"},"outcome":"` + long[:60000] + `"}]}`, status: 422, code: "INVALID_VALUE"},
		{name: "an unknown outcome", path: "/v1/apply", body: `{"commands":[{"op":"settle","reservationId":"res_c4mkvhn2l6u5tmbbq4zkzswwm4","outcome":"` + strings.Repeat(`\u0001`, 60000) + `"}]}`, status: 422, code: "INVALID_VALUE"},
		{name: "long webhooks", path: "/v1/webhooks", body: `{"url":"` + long[:60000] + `","kinds":["` + long[:60000] + `"]}`, status: 422, code: "INVALID_WEBHOOK"},
		{name: "long kinds of event", path: "/v1/webhooks", body: `{"url":"http://127.0.0.1:1/","kinds":["` + strings.Repeat(`\u0001`, 60000) + `"]}`, status: 422, code: "INVALID_WEBHOOK"},
		{name: "long patterns", path: "/v1/webhooks", body: `{"url":"http://127.0.0.1:1/","namespaces":["` + strings.Repeat(`\u0001`, 60000) + `"]}`, status: 422, code: "INVALID_WEBHOOK"},
		{name: "a long method", method: strings.Repeat("X", 60000), path: "/v1/check", status: 405, code: "METHOD_NOT_ALLOWED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			method := c.method
			if method == "" {
				method = http.MethodPost
			}
			before := allocated()
			res, text := r.send(method, c.path, c.header, c.body)
			spent := allocated() - before
			if res.status != c.status || !strings.Contains(text, `"code":"`+c.code+`"`) {
				t.Errorf("it is %d, want %d %s: %.500s", res.status, c.status, c.code, text)
			}
			if got := res.header.Get("Content-Type"); got != problemType {
				t.Errorf("it is %s", got)
			}
			if len(text) > maxProblem {
				t.Errorf("the answer has %d bytes", len(text))
			}
			if n := strings.Count(text, `"location"`); n > maxErrors {
				t.Errorf("there are %d errors", n)
			}
			t.Logf("%d bytes, %d allocated", len(text), spent)
			// This includes the client's own copies.
			if spent > mostAllocated {
				t.Errorf("%d MiB were allocated", spent>>20)
			}
		})
	}
}

// batchOf returns 32 reservations that differ only in their value.
func batchOf(part string) string {
	var parts []string
	for i := range 32 {
		parts = append(parts, strings.Replace(strings.TrimSuffix(part, ","), `"value":"`, fmt.Sprintf(`"value":"%d`, i), 1))
	}
	return strings.Join(parts, ",")
}

// allocated returns how many bytes this process has allocated so far.
func allocated() uint64 {
	runtime.Gosched()
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A problem lists twenty validation errors, and the number of further ones.
func TestValidationErrors(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, nil)
	values := func(n int) string { return `{"namespace":"slug","values":[0` + strings.Repeat(",0", n-1) + `]}` }
	_, text := r.send(http.MethodPost, "/v1/check", nil, values(20))
	if strings.Count(text, "expected string") != 21 || strings.Contains(text, "more") { // once in the detail
		t.Errorf("of 20: %s", text)
	}
	_, text = r.send(http.MethodPost, "/v1/check", nil, values(21))
	if strings.Count(text, "expected string") != 21 || !strings.Contains(text, `{"detail":"and 1 more"}]`) {
		t.Errorf("of 21: %s", text)
	}
	_, text = r.send(http.MethodPost, "/v1/check", nil, values(1000))
	if !strings.Contains(text, `{"detail":"and 980 more"}]`) {
		t.Errorf("of 1,000: %s", text)
	}
	_, text = r.send(http.MethodPost, "/v1/check", nil, values(1001))
	if !strings.Contains(text, "body has a list of 1,001 elements, more than the 1,000 allowed") {
		t.Errorf("of 1,001: %s", text)
	}
	_, text = r.send(http.MethodPost, "/v1/check", nil, values(500_000))
	if !strings.Contains(text, "body has 500,003 values, more than the 32,768 allowed") {
		t.Errorf("of 500,000: %s", text)
	}
}

// The rules refuse what is too long for them, with their own codes.
func TestBoundsAreAboveTheRules(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, nil)
	text := func(n int) string { return strings.Repeat("x", n) }
	list := func(n int, part string) string { return part + strings.Repeat(","+part, n-1) }
	for _, c := range []struct{ path, body, code string }{
		{"/v1/reservations", `{"namespace":"any","value":"` + text(60_000) + `"}`, "INVALID_VALUE"},
		{"/v1/reservations", `{"namespace":"` + text(60_000) + `","value":"v"}`, "INVALID_NAMESPACE"},
		{"/v1/reservations", `{"namespace":"any","value":"v","entity":{"type":"t","id":"` + text(60_000) + `"}}`, "INVALID_ENTITY"},
		{"/v1/reservations", `{"namespace":"any","value":"v","correlationId":"` + text(60_000) + `"}`, "INVALID_VALUE"},
		{"/v1/reservations", `{"namespace":"any","value":"v","meta":{"k":"` + text(60_000) + `"}}`, "INVALID_VALUE"},
		{"/v1/check", `{"namespace":"any","values":[` + list(101, `"v"`) + `]}`, "TOO_LARGE"},
		{"/v1/check", `{"namespace":"any","values":[` + list(30_000, `"v"`) + `]}`, "TOO_LARGE"},
		{"/v1/check", `{"namespace":"any","values":["v"],"parts":[` + list(9, `"v"`) + `]}`, "TOO_LARGE"},
		{"/v1/reservations/first", `{"namespace":"any","values":[` + list(33, `"v"`) + `]}`, "TOO_LARGE"},
		{"/v1/reservations/batch", `{"reservations":[` + list(2000, `{"namespace":"any","value":"v"}`) + `]}`, "TOO_LARGE"},
		{"/v1/apply", `{"commands":[` + list(33, `{"op":"rekey","namespace":"any","value":"v"}`) + `]}`, "TOO_LARGE"},
		{"/v1/apply", `{"commands":[` + list(2000, `{"op":"rekey","namespace":"any","value":"v"}`) + `]}`, "TOO_LARGE"},
	} {
		if res, answer := r.send(http.MethodPost, c.path, nil, c.body); res.status != 422 || !strings.Contains(answer, `"code":"`+c.code+`"`) {
			t.Errorf("%s %.100s: %d, want %s: %.300s", c.path, c.body, res.status, c.code, answer)
		}
	}
}

// No number of milliseconds overflows to another duration.
func TestMilliseconds(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, nil)
	var hook wire.Webhook
	var hold wire.Name
	for path, made := range map[string]struct {
		body string
		into any
	}{
		"/v1/webhooks":     {`{"url":"http://127.0.0.1:1/"}`, &hook},
		"/v1/reservations": {`{"namespace":"slug","value":"held"}`, &hold},
	} {
		_, text := r.send(http.MethodPost, path, nil, made.body)
		if err := json.Unmarshal([]byte(text), made.into); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, body string }{
		{"/v1/reservations", `{"namespace":"slug","value":"v","ttlMs":%d}`},
		{"/v1/reservations/batch", `{"reservations":[{"namespace":"slug","value":"v","ttlMs":%d}]}`},
		{"/v1/reservations/first", `{"namespace":"slug","values":["v"],"ttlMs":%d}`},
		{"/v1/reservations/" + hold.ReservationID + "/extend", `{"token":"` + hold.Token + `","ttlMs":%d}`},
		{"/v1/apply", `{"commands":[{"op":"reserve","namespace":"slug","value":"v","ttlMs":%d}]}`},
		{"/v1/webhooks/" + hook.ID + "/rotate", `{"graceMs":%d}`},
	} {
		for _, ms := range []int64{
			18_446_744_133_710, // one minute, in 64 bits of nanoseconds
			-18_446_744_013_709, 9_223_372_036_854, 9_223_372_036_855, -1, math.MinInt64, math.MaxInt64,
		} {
			if res, text := r.send(http.MethodPost, c.path, nil, fmt.Sprintf(c.body, ms)); res.status != http.StatusUnprocessableEntity {
				t.Errorf("%s with %d ms: %d %s", c.path, ms, res.status, text)
			}
		}
	}
}

// The largest list of commands that the rules allow is accepted.
func TestLargestList(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, nil)
	var meta, commands []string
	for i := range 16 {
		meta = append(meta, fmt.Sprintf(`"k%d":"v"`, i))
	}
	for i := range 32 {
		var names []string
		for j := range 32 {
			names = append(names, fmt.Sprintf(`{"namespace":"any","value":"v%d-%d","ttlMs":60000,"entity":{"type":"t","id":"%d"},"correlationId":"c","field":"f","overrideReserved":false,"meta":{%s}}`,
				i, j, j, strings.Join(meta, ",")))
		}
		commands = append(commands, `{"op":"reserveAll","token":"0123456789abcdef","reservations":[`+strings.Join(names, ",")+`]}`)
	}
	res, text := r.send(http.MethodPost, "/v1/apply", nil, `{"dryRun":true,"commands":[`+strings.Join(commands, ",")+`]}`)
	if res.status != http.StatusOK {
		t.Errorf("it is %d: %.500s", res.status, text)
	}
}

func TestShapeOfBodies(t *testing.T) {
	t.Parallel()
	notRaced(t)
	for data, want := range map[string]string{
		``:                                     "",
		`[]`:                                   "",
		`"` + strings.Repeat(`[`, 40) + `"`:    "",
		`"\"` + strings.Repeat(`[`, 40) + `"`:  "",
		`"\\"` + strings.Repeat(`[`, 40) + `"`: "is nested 40 deep",
		strings.Repeat(`[`, 32) + strings.Repeat(`]`, 32):          "",
		strings.Repeat(`{"a":[`, 16) + "0":                         "",
		strings.Repeat(`{"a":[`, 17) + "0":                         "is nested 34 deep",
		`"` + strings.Repeat(`,`, maxValues) + `"`:                 "",
		"[" + strings.Repeat(`0,`, maxValues-2) + "0]":             "has a list of 32,767 elements",
		"[" + strings.Repeat(`0,`, maxList-1) + "0]":               "",
		"[" + strings.Repeat(`0,`, maxList) + "0]":                 "has a list of 1,001 elements",
		`[{"a":` + strings.Repeat(`[0,`, maxList) + "0]":           "is nested 1,002 deep",
		`{"a":[[]` + strings.Repeat(`,[0,0]`, maxList) + "]}":      "has a list of 1,001 elements",
		"{" + strings.Repeat(`"a":[0,0],`, maxList) + `"a":1}`:     "",
		"0" + strings.Repeat(`,0`, maxList):                        "", // no JSON
		"]]" + strings.Repeat(`,0`, maxList):                       "", // no JSON
		"[" + strings.Repeat(`0,`, maxValues-1) + "0]":             "has 32,769 values",
		"[" + strings.Repeat(`[],`, maxValues) + "0]":              "has 65,538 values",
		"{" + strings.Repeat(`"a":{},`, maxValues/2) + `"a":null}`: "has 32,770 values",
	} {
		err := checkShape([]byte(data))
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", data, err, want)
		}
	}
}

// No call reads more of a body than the limit, with or without a Content-Length, and none
// decompresses it.
func TestBodiesAreCapped(t *testing.T) {
	t.Parallel()
	notRaced(t)
	const most = 1000
	r := newRig(t, inMemory, nil, func(c *Config) { c.MaxBody = most })
	doc := readDocument(r)
	var squeezed bytes.Buffer
	zip := gzip.NewWriter(&squeezed)
	_, _ = zip.Write(bytes.Repeat([]byte(" "), 100*most))
	_ = zip.Close()
	bodies := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.RequestBody == nil {
				continue
			}
			bodies++
			path := strings.NewReplacer("{reservationId}", "res_z5zouyci3ye4bv7hw3li6zvctu", "{", "", "}", "").Replace(path)
			for _, c := range []struct {
				what, encoding string
				body           io.Reader
				want           int
			}{
				{"long", "", strings.NewReader(strings.Repeat(" ", 2*most)), http.StatusRequestEntityTooLarge},
				{"chunked", "", io.MultiReader(strings.NewReader(strings.Repeat(" ", 2*most))), http.StatusRequestEntityTooLarge},
				{"compressed", "gzip", bytes.NewReader(squeezed.Bytes()), http.StatusBadRequest},
			} {
				if got := r.sendBody(strings.ToUpper(method), path, c.encoding, c.body); got != c.want {
					t.Errorf("%s: a %s body is %d, want %d", op.OperationID, c.what, got, c.want)
				}
			}
		}
	}
	if bodies < 15 {
		t.Errorf("only %d calls have a body", bodies)
	}
}

func (r *rig) sendBody(method, path, encoding string, body io.Reader) int {
	r.Helper()
	req, err := http.NewRequest(method, r.http.URL+path, body)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	res, err := r.client.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}
