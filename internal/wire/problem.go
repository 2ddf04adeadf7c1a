package wire

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/calldibs/dibs"
)

// Problem is an error of the API, as RFC 9457 has it.
type Problem struct {
	Type   string `json:"type" doc:"Which problem it is." example:"urn:dibs:problem:name-taken"`
	Title  string `json:"title" example:"Name taken"`
	Status int    `json:"status" example:"409"`
	Detail string `json:"detail" doc:"What is wrong, and what to do next." example:"slug:alice-bob is already reserved"`
	Code   string `json:"code" doc:"The problem, for programs." example:"NAME_TAKEN"`

	Error       string    `json:"error,omitempty" doc:"With NAME_TAKEN: the namespace's type and _taken." example:"slug_taken"`
	Field       string    `json:"field,omitempty" doc:"The request's field, or the namespace's type." example:"slug"`
	Namespace   string    `json:"namespace,omitempty"`
	Key         string    `json:"key,omitempty"`
	Reason      string    `json:"reason,omitempty" enum:"held,in_use,suspect,quarantined,reserved_word,invalid,confusable" doc:"With NAME_TAKEN: why."`
	Until       string    `json:"until,omitempty" format:"date-time" doc:"When the name may become free, if a date is known."`
	Suggestions []string  `json:"suggestions,omitempty" doc:"Names that were free when asked."`
	Refusal     *Refusal  `json:"refusal,omitempty" doc:"With INVALID_VALUE: which rule, where, and what would be accepted."`
	Errors      []Failure `json:"errors,omitempty" doc:"Every part that failed, of a request with several."`
	Cause       string    `json:"cause,omitempty" doc:"With UNAVAILABLE and OUTCOME_UNKNOWN: what is wrong with the database, where that is known. More causes may be added." example:"disk full"`

	Outcome   string `json:"outcome,omitempty" enum:"not_found,gone" doc:"Of a name that leads nowhere: why."`
	Canonical string `json:"canonical,omitempty" doc:"Of a name that leads nowhere."`
	AgeMs     int64  `json:"ageMs,omitempty" doc:"Of a name that leads nowhere: how old the answer may be, where it comes from the server's cache."`

	Report *Recanonicalization `json:"report,omitempty" doc:"Of a change of rules that was refused: what stands in its way."`
}

// Failure is one part that failed: of a list of commands, or of a request's members.
type Failure struct {
	Index       *int      `json:"index,omitempty" doc:"Its place in the list, from 0."`
	Location    string    `json:"location,omitempty" doc:"The member of the request." example:"body.ttlMs"`
	Field       string    `json:"field,omitempty"`
	Code        string    `json:"code,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	Detail      string    `json:"detail,omitempty"`
	Namespace   string    `json:"namespace,omitempty"`
	Key         string    `json:"key,omitempty"`
	Until       string    `json:"until,omitempty" format:"date-time"`
	Suggestions []string  `json:"suggestions,omitempty"`
	Refusal     *Refusal  `json:"refusal,omitempty"`
	Cause       string    `json:"cause,omitempty"`
	Errors      []Failure `json:"errors,omitempty"`
}

// Refusal is why a value is not valid.
type Refusal struct {
	Rule    string `json:"rule" example:"hyphen_at_end"`
	Problem string `json:"problem" example:"ends with a hyphen"`
	At      int    `json:"at" doc:"The byte of the value, or -1 for all of it."`
	Try     string `json:"try,omitempty" doc:"What would be accepted." example:"alice-bob"`
}

// statuses are what HTTP says to each code; whatever is not here is 500.
var statuses = map[dibs.Code]int{
	dibs.CodeNameTaken:        http.StatusConflict,
	dibs.CodeNotFound:         http.StatusNotFound,
	dibs.CodeLost:             http.StatusConflict,
	dibs.CodeAlreadyExpired:   http.StatusConflict,
	dibs.CodeAlreadyConfirmed: http.StatusConflict,
	dibs.CodeAlreadyReleased:  http.StatusConflict,
	dibs.CodeEntityNotFound:   http.StatusNotFound,
	dibs.CodeEntityHasName:    http.StatusConflict,
	dibs.CodeEntityArchived:   http.StatusConflict,
	dibs.CodeNotOwner:         http.StatusForbidden,
	dibs.CodeVersionMismatch:  http.StatusPreconditionFailed,
	dibs.CodeInvalidValue:     http.StatusUnprocessableEntity,
	dibs.CodeReservedWord:     http.StatusUnprocessableEntity,
	dibs.CodeInvalidNamespace: http.StatusUnprocessableEntity,
	dibs.CodeInvalidToken:     http.StatusUnprocessableEntity,
	dibs.CodeInvalidEntity:    http.StatusUnprocessableEntity,
	dibs.CodeInvalidTTL:       http.StatusUnprocessableEntity,
	dibs.CodeTTLTooLong:       http.StatusUnprocessableEntity,
	dibs.CodeTooLarge:         http.StatusUnprocessableEntity,
	dibs.CodeTooManyHolds:     http.StatusTooManyRequests,
	dibs.CodeOutcomeUnknown:   http.StatusServiceUnavailable,
	dibs.CodeUnavailable:      http.StatusServiceUnavailable,
}

// StatusOf returns what HTTP says to a code of the library.
func StatusOf(code dibs.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// IsCode reports whether a code is one of the library's, and not of the server alone.
func IsCode(code string) bool {
	_, ok := statuses[dibs.Code(code)]
	return ok
}

// ProblemOf shows an error of the library. What caused it inside the engine stays
// there.
func ProblemOf(e *dibs.Error) *Problem {
	p := NewProblem(StatusOf(e.Code), string(e.Code), e.Message)
	f := failureOf(e)
	p.Field, p.Namespace, p.Key, p.Reason, p.Until = f.Field, f.Namespace, f.Key, f.Reason, f.Until
	p.Suggestions, p.Refusal, p.Errors, p.Cause = f.Suggestions, f.Refusal, f.Errors, f.Cause
	if e.Code == dibs.CodeNameTaken {
		p.Error = typeOf(e.Namespace) + "_taken"
	}
	return p
}

// NewProblem makes a problem of the server's own.
func NewProblem(status int, code, detail string) *Problem {
	words := strings.ReplaceAll(strings.ToLower(code), "_", " ")
	return &Problem{
		Type:   "urn:dibs:problem:" + strings.ReplaceAll(words, " ", "-"),
		Title:  strings.ToUpper(words[:1]) + words[1:],
		Status: status, Detail: detail, Code: code,
	}
}

func failureOf(e *dibs.Error) Failure {
	f := Failure{
		Field: e.Field, Code: string(e.Code), Reason: string(e.Reason), Detail: e.Message,
		Namespace: e.Namespace, Key: e.Key, Until: formatTime(e.Until), Suggestions: e.Suggestions, Cause: string(e.Cause),
	}
	if r := e.Refusal; r != nil {
		f.Refusal = &Refusal{r.Rule, r.Problem, r.At, r.Try}
	}
	for _, part := range e.Failures {
		p := failureOf(part.Err)
		p.Index = &part.Index
		p.Reason = cmp.Or(p.Reason, string(plainReasons[part.Err.Code]))
		f.Errors = append(f.Errors, p)
	}
	return f
}

// plainReasons are the reasons of refusals that are not about taken names: parts of a list
// have one, as a check does.
var plainReasons = map[dibs.Code]dibs.Reason{
	dibs.CodeInvalidValue: dibs.ReasonInvalid,
	dibs.CodeReservedWord: dibs.ReasonReservedWord,
}

func typeOf(namespace string) string { return namespace[strings.LastIndexByte(namespace, '.')+1:] }

// DibsError returns the library's error.
func (p *Problem) DibsError() *dibs.Error {
	return Failure{
		Field: p.Field, Code: p.Code, Reason: p.Reason, Detail: p.Detail, Namespace: p.Namespace, Key: p.Key,
		Until: p.Until, Suggestions: p.Suggestions, Refusal: p.Refusal, Errors: p.Errors, Cause: p.Cause,
	}.dibsError()
}

func (f Failure) dibsError() *dibs.Error {
	e := &dibs.Error{
		Code: dibs.Code(f.Code), Message: f.Detail, Field: f.Field, Namespace: f.Namespace, Key: f.Key,
		Reason: dibs.Reason(f.Reason), Until: parseTime(f.Until), Suggestions: f.Suggestions, Cause: dibs.Cause(f.Cause),
	}
	if r := f.Refusal; r != nil {
		e.Refusal = &dibs.Refusal{Rule: r.Rule, Problem: r.Problem, At: r.At, Try: r.Try}
	}
	if plainReasons[e.Code] == e.Reason {
		e.Reason = "" // it is for who reads lists
	}
	for _, part := range f.Errors {
		if part.Index != nil {
			e.Failures = append(e.Failures, dibs.Failure{Index: *part.Index, Err: part.dibsError()})
		}
	}
	return e
}
