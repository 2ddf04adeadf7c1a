package server

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
)

// No call reads more of a body than the limit, with or without a Content-Length, and none
// decompresses it.
func TestBodiesAreCapped(t *testing.T) {
	t.Parallel()
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
