package dibsclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
)

// A stream of any bytes ends, and each of its messages is an event, a position, or an error.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("id: 1\nevent: reserved\ndata: {\"cursor\":\"1\",\"kind\":\"reserved\"}\n\n: still here\n\nid: 2\n\n"))
	f.Add([]byte("data: a\r\ndata: b\r\n\r\nid"))
	f.Add([]byte("\n\n\ndata\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		messages := newMessageReader(bytes.NewReader(data), func() {})
		for {
			m, err := messages.next()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, errInvalidStream) {
					t.Errorf("%q: %v", data, err)
				}
				return
			}
			if m.id == "" && m.data == "" {
				t.Errorf("%q has an empty message", data)
			}
			if event, err := m.event(); err == nil && event.Cursor == "" {
				t.Errorf("%q has an event without a cursor: %+v", data, event)
			}
		}
	})
}

// Whatever a server or a proxy answers to a change, the client either has the result, or an error
// that says whether the change may have been done.
func FuzzResponse(f *testing.F) {
	f.Add(200, "application/json", "", []byte(`{"names":[]}`))
	f.Add(409, "application/problem+json", "", []byte(`{"code":"NAME_TAKEN","detail":"taken"}`))
	f.Add(503, "application/problem+json", "3", []byte(`{"code":"OUTCOME_UNKNOWN"}`))
	f.Add(502, "text/html", "Fri, 31 Dec 2027 23:59:59 GMT", []byte(`<html>`))
	f.Add(429, "", "99999999999999999999", []byte(nil))
	f.Add(-1, "application/json; charset", "-1", []byte(`[]`))
	f.Fuzz(func(t *testing.T, status int, media, retryAfter string, data []byte) {
		var body struct{ Names []string }
		do := call{name: "test", changes: true, decode: func(data []byte) error { return json.Unmarshal(data, &body) }}
		header := http.Header{"Content-Type": {media}, "Retry-After": {retryAfter}}
		failed := do.decodeResponse(response{status, header, data})
		if failed == nil {
			if media = strings.ToLower(media); status < 200 || status > 299 || !strings.Contains(media, "json") || strings.HasPrefix(media, "application/problem") {
				t.Errorf("%d %s %q is a result", status, media, data)
			}
			return
		}
		if failed.err == nil || failed.retryAfter < 0 {
			t.Errorf("%d %s %q: %+v", status, media, data, failed)
		}
		err := do.finalError(t.Context(), failed, failed.maybeApplied)
		if (failed.maybeApplied && !failed.refused) != errors.Is(err, dibs.ErrOutcomeUnknown) {
			t.Errorf("%d %s %q: %+v becomes %v", status, media, data, failed, err)
		}
	})
}
