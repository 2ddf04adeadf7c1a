package wire

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/calldibs/dibs"
)

// Problem is an error of the API, by RFC 9457.
type Problem struct {
	Type   string `json:"type" doc:"The type of problem." example:"urn:dibs:problem:name-taken"`
	Title  string `json:"title" example:"Name taken"`
	Status int    `json:"status" example:"409"`
	Detail string `json:"detail" doc:"What is wrong, and what to do next." example:"slug:alice-bob is already reserved"`
	Code   string `json:"code" doc:"The type of problem, for programs." example:"NAME_TAKEN"`

	Error       string    `json:"error,omitempty" doc:"With NAME_TAKEN: the namespace's type and _taken." example:"slug_taken"`
	Field       string    `json:"field,omitempty" doc:"The request's field, or the namespace's type." example:"slug"`
	Namespace   string    `json:"namespace,omitempty"`
	Key         string    `json:"key,omitempty"`
	Reason      string    `json:"reason,omitempty" enum:"held,in_use,suspect,quarantined,reserved_word,invalid,confusable" doc:"With NAME_TAKEN: why."`
	Until       string    `json:"until,omitempty" format:"date-time" doc:"When the name may become free, if a date is known."`
	Suggestions []string  `json:"suggestions,omitempty" nullable:"false" doc:"Names that were free when asked."`
	Refusal     *Refusal  `json:"refusal,omitempty" doc:"With INVALID_VALUE: which rule, where, and what would be accepted."`
	Errors      []Failure `json:"errors,omitempty" nullable:"false" doc:"Every part of the request that failed."`
	Cause       string    `json:"cause,omitempty" doc:"With UNAVAILABLE and OUTCOME_UNKNOWN: what is wrong with the database, if known. More causes may be added." example:"disk full"`

	Outcome   string `json:"outcome,omitempty" enum:"not_found,gone" doc:"For a name that does not resolve: why."`
	Canonical string `json:"canonical,omitempty" doc:"For a name that does not resolve."`
	Archived  bool   `json:"archived,omitempty" doc:"For a name that does not resolve, and a caller with the right to get it: its entity is archived."`
	AgeMs     int64  `json:"ageMs,omitempty" doc:"For a name that does not resolve: the maximum age of an answer from the server's cache."`

	Report *Recanonicalization `json:"report,omitempty" doc:"For a recanonicalization that was refused: the obstacles."`
}

// Failure is one part that failed: a command of a list, or a member of a request.
type Failure struct {
	Index       *int      `json:"index,omitempty" doc:"Its index in the list, from 0."`
	Location    string    `json:"location,omitempty" doc:"The member of the request." example:"body.ttlMs"`
	Field       string    `json:"field,omitempty"`
	Code        string    `json:"code,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	Detail      string    `json:"detail,omitempty"`
	Namespace   string    `json:"namespace,omitempty"`
	Key         string    `json:"key,omitempty"`
	Until       string    `json:"until,omitempty" format:"date-time"`
	Suggestions []string  `json:"suggestions,omitempty" nullable:"false"`
	Refusal     *Refusal  `json:"refusal,omitempty"`
	Cause       string    `json:"cause,omitempty"`
	Errors      []Failure `json:"errors,omitempty" nullable:"false"`
}

// Refusal is why a value is not valid.
type Refusal struct {
	Rule    string `json:"rule" example:"hyphen_at_end"`
	Problem string `json:"problem" example:"ends with a hyphen"`
	At      int    `json:"at" doc:"The byte offset in the value, or -1 for the whole value."`
	Try     string `json:"try,omitempty" doc:"A value that would be accepted." example:"alice-bob"`
}

// StatusOf returns the HTTP status of a code of the library; 500 for any other code.
func StatusOf(code dibs.Code) int {
	switch code {
	case dibs.CodeNotFound, dibs.CodeEntityNotFound:
		return http.StatusNotFound
	case dibs.CodeNotOwner:
		return http.StatusForbidden
	case dibs.CodeNameTaken, dibs.CodeEntityHasName, dibs.CodeEntityArchived,
		dibs.CodeLost, dibs.CodeAlreadyExpired, dibs.CodeAlreadyConfirmed, dibs.CodeAlreadyReleased:
		return http.StatusConflict
	case dibs.CodeVersionMismatch:
		return http.StatusPreconditionFailed
	case dibs.CodeInvalidValue, dibs.CodeReservedWord, dibs.CodeInvalidNamespace, dibs.CodeInvalidToken,
		dibs.CodeInvalidEntity, dibs.CodeInvalidTTL, dibs.CodeTTLTooLong, dibs.CodeTooLarge:
		return http.StatusUnprocessableEntity
	case dibs.CodeTooManyHolds:
		return http.StatusTooManyRequests
	case dibs.CodeOutcomeUnknown, dibs.CodeUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// IsCode reports whether a code is one of the library's, not one of the server's own.
func IsCode(code string) bool { return StatusOf(dibs.Code(code)) != http.StatusInternalServerError }

// ProblemOf converts an error of the library, without the engine's underlying error.
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

// NewProblem returns a problem with a code of the server's own.
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
		Namespace: e.Namespace, Key: e.Key, Until: FormatTime(e.Until), Suggestions: e.Suggestions, Cause: string(e.Cause),
		Refusal: (*Refusal)(e.Refusal),
	}
	for _, part := range e.Failures {
		p := failureOf(part.Err)
		p.Index = &part.Index
		p.Reason = cmp.Or(p.Reason, string(plainReasons[part.Err.Code]))
		f.Errors = append(f.Errors, p)
	}
	return f
}

// plainReasons are the reasons of errors that are not about taken names. Failures of a list have
// them, like the results of a check.
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
		Reason: dibs.Reason(f.Reason), Until: ParseTime(f.Until), Suggestions: f.Suggestions, Cause: dibs.Cause(f.Cause),
		Refusal: (*dibs.Refusal)(f.Refusal),
	}
	if plainReasons[e.Code] == e.Reason {
		e.Reason = "" // the library's errors have none
	}
	for _, part := range f.Errors {
		if part.Index != nil {
			e.Failures = append(e.Failures, dibs.Failure{Index: *part.Index, Err: part.dibsError()})
		}
	}
	return e
}
