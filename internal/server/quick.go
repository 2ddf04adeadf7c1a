package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs/internal/wire"
)

// quick answers the usual requests of a call without the API library, whose reflection takes
// longer than the call itself. For every other request it changes nothing and returns false: the
// library answers, and says what is wrong. Both give the same answer.
type quick func(x *exchange, r *http.Request) bool

// quickCalls are the calls that are worth it, by operation.
func (s *Server) quickCalls() map[string]quick {
	return map[string]quick{
		"resolve":   quickly(s, readName, s.resolveName),
		"checkName": quickly(s, readCheck, s.checkName),
		"reserve":   quickly(s, readReserve, s.reserve),
	}
}

// errUnusual is the error of a request that the API library has to read.
var errUnusual = errors.New("unusual")

// quickly returns a call with a quick reader of requests.
func quickly[I any, O interface{ write(*exchange) }](s *Server, read func(*exchange, *http.Request, *I) error, call func(context.Context, *I) (O, error)) quick {
	return func(x *exchange, r *http.Request) bool {
		if r.URL.RawQuery != "" || !wantsJSON(r.Header["Accept"]) {
			return false
		}
		var in I
		var out O
		err := read(x, r, &in)
		if err == nil {
			out, err = call(r.Context(), &in)
		}
		switch {
		case err == nil:
			out.write(x)
		case errors.Is(err, errUnusual):
			return false
		default:
			writeProblem(x, s.problemOf(err))
		}
		return true
	}
}

// wantsJSON reports whether an Accept header needs no negotiation.
func wantsJSON(accept []string) bool {
	return len(accept) == 0 || len(accept) == 1 && (accept[0] == "*/*" || accept[0] == "application/json")
}

func readName(_ *exchange, r *http.Request, in *ByName) error {
	in.Namespace, in.Value = r.PathValue("namespace"), r.PathValue("value")
	if in.Namespace == "" || in.Value == "" || len(in.Namespace) > maxText || len(in.Value) > maxText {
		return errUnusual
	}
	return nil
}

func readCheck(x *exchange, r *http.Request, in *checkInput) error { return readName(x, r, &in.ByName) }

func readReserve(x *exchange, r *http.Request, in *reserveInput) error {
	in.Header = r.Header.Get("Idempotency-Key")
	if x.body == nil || r.ContentLength < 0 || r.ContentLength > maxQuick || len(in.Header) > maxText {
		return errUnusual
	}
	buffer := quickBuffers.Get().(*[maxQuick + 1]byte)
	defer quickBuffers.Put(buffer)
	data, err := x.body.readSmall(buffer[:], time.Now().Add(x.timeout))
	if err != nil {
		_ = r.Body.Close()
		return err
	}
	var ok bool
	if in.Body.Reserve, in.Body.Token, ok = wire.ParseReserve(data); !ok {
		r.Body = io.NopCloser(bytes.NewReader(slices.Clone(data)))
		return errUnusual
	}
	return nil
}

// maxQuick is how many bytes a body has at most that is read without the API library.
const maxQuick = 4 << 10

var quickBuffers = sync.Pool{New: func() any { return new([maxQuick + 1]byte) }}

// readSmall reads a body that is smaller than the buffer. Its errors are those of the API library.
func (b *requestBody) readSmall(buffer []byte, deadline time.Time) (data []byte, err error) {
	_ = b.control.SetReadDeadline(deadline)
	for err == nil && len(data) < len(buffer) {
		var n int
		n, err = b.Read(buffer[len(data):])
		data = buffer[:len(data)+n]
	}
	var network net.Error
	switch {
	case errors.Is(err, io.EOF):
		return data, nil
	case errors.As(err, &network) && network.Timeout():
		return nil, huma.NewError(http.StatusRequestTimeout, "request body read timeout")
	default:
		return nil, huma.NewError(http.StatusInternalServerError, "cannot read request body", err)
	}
}

// write writes the answer.
func (a *answer[T]) write(x *exchange) { x.writeJSON(a.Status, &a.Body) }

// write writes the answer, with its headers.
func (r *resolved) write(x *exchange) {
	h := x.Header()
	values := [...]string{r.CacheControl, r.Location, r.EntityType, r.EntityID}
	for i, name := range [...]string{"Cache-Control", "Location", "Dibs-Entity-Type", "Dibs-Entity-Id"} {
		if values[i] != "" {
			h[name] = values[i : i+1 : i+1]
		}
	}
	x.writeJSON(r.Status, &r.Body)
}

// writeJSON writes a body, as the API library does.
func (x *exchange) writeJSON(status int, body any) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.buffer.Reset()
	if err := e.json.Encode(body); err != nil {
		panic(err) // no body has a type that JSON does not
	}
	x.Header()["Content-Type"] = typeIsJSON
	x.WriteHeader(status)
	_, _ = x.Write(e.buffer.Bytes())
}

// encoder encodes without HTML escapes, like all responses.
type encoder struct {
	buffer bytes.Buffer
	json   *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.json = json.NewEncoder(&e.buffer)
	e.json.SetEscapeHTML(false)
	return e
}}
