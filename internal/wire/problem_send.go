package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/calldibs/dibs"
)

// ProblemType is the media type of a problem.
const ProblemType = "application/problem+json"

// RefusalIn returns the refusal in an error of a Registry, nil if there is none. A context that
// ended is one: nothing happened.
func RefusalIn(err error) *dibs.Error {
	if refused, ok := errors.AsType[*dibs.Error](err); ok {
		return refused
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		late := dibs.Unavailable(err)
		late.Message = "the request timed out; try again"
		return late
	}
	return nil
}

// ProblemFor returns the problem for an error of a Registry. For an error that callers must not
// see it returns one that says nothing about it, and false.
func ProblemFor(err error) (p *Problem, known bool) {
	if refused := RefusalIn(err); refused != nil {
		return ProblemOf(refused), true
	}
	if errors.Is(err, dibs.ErrBadCursor) {
		return NewProblem(http.StatusUnprocessableEntity, "INVALID_CURSOR", "invalid cursor: use one from this server, or none to start from the beginning"), true
	}
	return NewProblem(http.StatusInternalServerError, "INTERNAL", "internal error; see the server's log"), false
}

// SetRetryAfter sets Retry-After if a retry may help and the header is not set yet.
func (p *Problem) SetRetryAfter(h http.Header) {
	retry := p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests
	if retry && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "1")
	}
}

// Send writes the problem as a response.
func (p *Problem) Send(w http.ResponseWriter) {
	data, err := p.MarshalJSON()
	if err != nil {
		data = nil // the status has to do
	}
	p.SendEncoded(w, append(data, '\n'))
}

// SendEncoded writes the problem, whose JSON is known, as a response.
func (p *Problem) SendEncoded(w http.ResponseWriter, data []byte) {
	p.SetRetryAfter(w.Header())
	w.Header().Set("Content-Type", ProblemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(data)
}

const (
	// MaxProblem is how many bytes a problem may have as JSON.
	MaxProblem = 64 << 10
	// maxDetail is how many bytes a text keeps in a problem that would be too large.
	maxDetail = 1 << 10
	// overhead is an upper bound of the JSON around a failure: a comma, the member with its
	// parts, and the count of further ones.
	overhead = 100
)

// MarshalJSON writes a problem in at most [MaxProblem] bytes: problems repeat parts of requests,
// and a problem about a list has a failure for each element. The report of a recanonicalization
// is not shortened: the caller asked for it.
func (p *Problem) MarshalJSON() ([]byte, error) {
	type document Problem // without this method
	data, err := marshal((*document)(p))
	if err != nil || len(data) <= MaxProblem || p.Report != nil {
		return data, err
	}
	short := document(*p)
	short.Detail, short.Field, short.Suggestions = cut(p.Detail), cut(p.Field), nil
	short.Errors = nil
	head, err := marshal(&short)
	if err != nil {
		return nil, err
	}
	short.Errors, _ = fit(p.Errors, MaxProblem-len(head)-10*overhead)
	return marshal(&short)
}

// fit returns the first failures that fit into room bytes of JSON, with long texts cut, and the
// bytes that are left.
func fit(failures []Failure, room int) (kept []Failure, left int) {
	for i, f := range failures {
		f.Location, f.Detail, f.Field = cut(f.Location), cut(f.Detail), cut(f.Field)
		parts := f.Errors
		f.Errors = nil
		data, err := marshal(f)
		if err != nil || len(data)+2*overhead > room {
			return append(kept, AndMore(len(failures)-i)), room - overhead
		}
		f.Errors, room = fit(parts, room-len(data)-overhead)
		kept = append(kept, f)
	}
	return kept, room
}

// AndMore stands for the failures that a problem does not list.
func AndMore(n int) Failure { return Failure{Detail: "and " + Thousands(n) + " more"} }

// Thousands formats a number with separators: 499,980.
func Thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", Thousands(n/1000), n%1000)
}

// cut shortens a text to maxDetail bytes, at a character boundary.
func cut(text string) string {
	if len(text) <= maxDetail {
		return text
	}
	return strings.ToValidUTF8(text[:maxDetail], "") + "…"
}

// marshal is json.Marshal without HTML escapes, like all responses.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
