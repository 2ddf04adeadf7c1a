package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	// maxErrors is how many validation errors of a request a problem lists.
	maxErrors = 20
	// maxProblem is how many bytes a problem may have as JSON.
	maxProblem = 64 << 10
	// maxDetail is how many bytes a text keeps in a problem that would be too large.
	maxDetail = 1 << 10
)

// problemFrom makes a problem of the API library's validation errors. The library's own problem
// would repeat rejected values, and so leak emails and tokens.
func problemFrom(status int, message string, errs []error) *problem {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	listed := errs[:min(len(errs), maxErrors)]
	failures := make([]wire.Failure, len(listed))
	code := codeOf(status)
	for i, err := range listed {
		var detailer huma.ErrorDetailer
		if errors.As(err, &detailer) {
			d := detailer.ErrorDetail()
			failures[i] = wire.Failure{Location: d.Location, Detail: d.Message}
		} else {
			failures[i] = wire.Failure{Detail: err.Error()}
		}
		if tooLong(failures[i].Detail) { // the code that the rules use
			status, code = http.StatusUnprocessableEntity, string(dibs.CodeTooLarge)
		}
	}
	p := newProblem(status, code, message)
	p.Errors = failures
	p.nameMember()
	if more := len(errs) - len(listed); more > 0 {
		p.Errors = append(p.Errors, andMore(more))
	}
	return p
}

func andMore(n int) wire.Failure { return wire.Failure{Detail: "and " + thousands(n) + " more"} }

// tooLong reports whether an error is about a list with too many elements, or a body with too
// many values.
func tooLong(message string) bool {
	return strings.HasPrefix(message, "expected array length <=") || strings.HasSuffix(message, moreThanAllowed)
}

// MarshalJSON writes a problem in at most maxProblem bytes: problems repeat parts of requests,
// and a problem about a list has a failure for each element. The report of a recanonicalization
// is not shortened: the caller asked for it.
func (p *problem) MarshalJSON() ([]byte, error) {
	data, err := marshal(&p.Problem)
	if err != nil || len(data) <= maxProblem || p.Report != nil {
		return data, err
	}
	short := p.Problem
	short.Detail, short.Field, short.Suggestions = cut(p.Detail, maxDetail), cut(p.Field, maxDetail), nil
	short.Errors = nil
	head, err := marshal(&short)
	if err != nil {
		return nil, err
	}
	short.Errors, _ = fit(p.Errors, maxProblem-len(head)-10*overhead)
	return marshal(&short)
}

// overhead is an upper bound of the JSON around a failure: a comma, the member with its parts,
// and the count of further ones.
const overhead = 100

// fit returns the first failures that fit into room bytes of JSON, with long texts cut, and the
// bytes that are left.
func fit(failures []wire.Failure, room int) (kept []wire.Failure, left int) {
	for i, f := range failures {
		f.Location, f.Detail, f.Field = cut(f.Location, maxDetail), cut(f.Detail, maxDetail), cut(f.Field, maxDetail)
		parts := f.Errors
		f.Errors = nil
		data, err := marshal(f)
		if err != nil || len(data)+2*overhead > room {
			return append(kept, andMore(len(failures)-i)), room - overhead
		}
		f.Errors, room = fit(parts, room-len(data)-overhead)
		kept = append(kept, f)
	}
	return kept, room
}

// marshal is json.Marshal without HTML escapes, like all responses.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
