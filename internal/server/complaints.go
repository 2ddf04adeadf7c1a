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
	// maxComplaints is how many of the things that are wrong with a request are told.
	maxComplaints = 20
	// maxProblem is how many bytes a problem may have as JSON.
	maxProblem = 64 << 10
	// maxDetail is how many bytes of a text are told in a problem that is too large
	// otherwise.
	maxDetail = 1 << 10
)

// problemFrom makes a problem of what the API library finds wrong with a request. Its own
// would repeat rejected values, and so give emails and tokens away.
func problemFrom(status int, message string, errs []error) *problem {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	told := errs[:min(len(errs), maxComplaints)]
	complaints := make([]wire.Failure, len(told))
	code := codeOf(status)
	for i, err := range told {
		var detailer huma.ErrorDetailer
		if errors.As(err, &detailer) {
			d := detailer.ErrorDetail()
			complaints[i] = wire.Failure{Location: d.Location, Detail: d.Message}
		} else {
			complaints[i] = wire.Failure{Detail: err.Error()}
		}
		if tooLong(complaints[i].Detail) { // as the rules of names call it
			status, code = http.StatusUnprocessableEntity, string(dibs.CodeTooLarge)
		}
	}
	p := newProblem(status, code, message)
	p.Errors = complaints
	p.nameMember()
	if more := len(errs) - len(told); more > 0 {
		p.Errors = append(p.Errors, andMore(more))
	}
	return p
}

func andMore(n int) wire.Failure { return wire.Failure{Detail: "and " + thousands(n) + " more"} }

// tooLong reports whether a complaint is about a list with too many elements, or about a
// body that must have one.
func tooLong(complaint string) bool {
	return strings.HasPrefix(complaint, "expected array length <=") || strings.HasSuffix(complaint, moreThanAllowed)
}

// MarshalJSON writes a problem in no more than maxProblem bytes. Problems repeat parts of
// requests, and one about a list has a failure for each part of it. The report of a change
// of rules is as long as it is: it is what was asked for.
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
	short.Errors, _ = fit(p.Errors, maxProblem-len(head)-10*around)
	return marshal(&short)
}

// around is more than what stands around a failure as JSON: a comma, the member that has
// its parts, and how many more there are.
const around = 100

// fit returns the first failures that take no more than so many bytes as JSON, with long
// texts cut, and how many bytes are left.
func fit(failures []wire.Failure, room int) (kept []wire.Failure, left int) {
	for i, f := range failures {
		f.Location, f.Detail, f.Field = cut(f.Location, maxDetail), cut(f.Detail, maxDetail), cut(f.Field, maxDetail)
		parts := f.Errors
		f.Errors = nil
		data, err := marshal(f)
		if err != nil || len(data)+2*around > room {
			return append(kept, andMore(len(failures)-i)), room - around
		}
		f.Errors, room = fit(parts, room-len(data)-around)
		kept = append(kept, f)
	}
	return kept, room
}

// marshal is json.Marshal without escapes for HTML, as all answers are written.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
