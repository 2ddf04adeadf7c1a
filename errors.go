package dibs

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Code names an error for programs, in Go and on the wire.
type Code string

// The codes. Each has a sentinel for [errors.Is], such as [ErrNameTaken] for NAME_TAKEN.
const (
	CodeNameTaken        Code = "NAME_TAKEN"
	CodeNotFound         Code = "RESERVATION_NOT_FOUND"
	CodeLost             Code = "RESERVATION_LOST"
	CodeAlreadyExpired   Code = "RESERVATION_ALREADY_EXPIRED"
	CodeAlreadyConfirmed Code = "RESERVATION_ALREADY_CONFIRMED"
	CodeAlreadyReleased  Code = "RESERVATION_ALREADY_RELEASED"
	CodeEntityNotFound   Code = "ENTITY_NOT_FOUND"
	CodeEntityHasName    Code = "ENTITY_HAS_NAME"
	CodeEntityArchived   Code = "ENTITY_ARCHIVED"
	CodeNotOwner         Code = "NOT_OWNER"
	CodeVersionMismatch  Code = "VERSION_MISMATCH"
	CodeInvalidValue     Code = "INVALID_VALUE"
	CodeReservedWord     Code = "RESERVED_WORD"
	CodeInvalidNamespace Code = "INVALID_NAMESPACE"
	CodeInvalidToken     Code = "INVALID_TOKEN"
	CodeInvalidEntity    Code = "INVALID_ENTITY"
	CodeInvalidTTL       Code = "INVALID_TTL"
	CodeTTLTooLong       Code = "TTL_TOO_LONG"
	CodeTooLarge         Code = "TOO_LARGE"
	CodeTooManyHolds     Code = "TOO_MANY_HOLDS"
	CodeOutcomeUnknown   Code = "OUTCOME_UNKNOWN"
	CodeUnavailable      Code = "UNAVAILABLE"
)

// The sentinels, for [errors.Is]. A Registry returns an [*Error], which has the details and
// matches the sentinel of its code.
var (
	ErrNameTaken        = sentinel(CodeNameTaken, "the name is taken")
	ErrNotFound         = sentinel(CodeNotFound, "no such reservation")
	ErrLost             = sentinel(CodeLost, "the token does not hold the name")
	ErrAlreadyExpired   = sentinel(CodeAlreadyExpired, "the hold is over")
	ErrAlreadyConfirmed = sentinel(CodeAlreadyConfirmed, "the hold is already confirmed")
	ErrAlreadyReleased  = sentinel(CodeAlreadyReleased, "the hold is already released")
	ErrEntityNotFound   = sentinel(CodeEntityNotFound, "no such entity")
	ErrEntityHasName    = sentinel(CodeEntityHasName, "the entity already has a name here")
	ErrEntityArchived   = sentinel(CodeEntityArchived, "the entity is archived")
	ErrNotOwner         = sentinel(CodeNotOwner, "the name belongs to another entity")
	ErrVersionMismatch  = sentinel(CodeVersionMismatch, "the entity has changed")
	ErrInvalidValue     = sentinel(CodeInvalidValue, "the value is not valid")
	ErrReservedWord     = sentinel(CodeReservedWord, "the value is a reserved word")
	ErrInvalidNamespace = sentinel(CodeInvalidNamespace, "the namespace is not well-formed")
	ErrInvalidToken     = sentinel(CodeInvalidToken, "the token is not valid")
	ErrInvalidEntity    = sentinel(CodeInvalidEntity, "the entity is not valid")
	ErrInvalidTTL       = sentinel(CodeInvalidTTL, "the time to live is not valid")
	ErrTTLTooLong       = sentinel(CodeTTLTooLong, "the time to live is too long")
	ErrTooLarge         = sentinel(CodeTooLarge, "the command is too large")
	ErrTooManyHolds     = sentinel(CodeTooManyHolds, "the principal has too many holds")
	ErrOutcomeUnknown   = sentinel(CodeOutcomeUnknown, "the command may have been committed: retry with the same token")
	ErrUnavailable      = sentinel(CodeUnavailable, "the engine is unavailable: nothing happened")
)

// ErrRetryTx is returned inside a transaction of the caller that can no longer commit, because
// another writer changed the same records. Roll back and run the transaction again.
var ErrRetryTx = errors.New("dibs: another writer was faster: roll the transaction back and run it again")

// ErrUnsupported is returned for a verb that this Registry does not support, such as Sweep
// inside a transaction of the caller.
var ErrUnsupported = errors.New("dibs: not supported here")

// codeError is a sentinel.
type codeError struct {
	code    Code
	message string
}

func sentinel(code Code, message string) error { return &codeError{code, message} }

func (e *codeError) Error() string { return "dibs: " + string(e.code) + ": " + e.message }

// Reason says why a name is not available.
type Reason string

// The reasons of a NAME_TAKEN error and of [Availability].
const (
	ReasonHeld         Reason = "held"
	ReasonInUse        Reason = "in_use"
	ReasonSuspect      Reason = "suspect"
	ReasonQuarantined  Reason = "quarantined"
	ReasonReservedWord Reason = "reserved_word"
	ReasonInvalid      Reason = "invalid"
	ReasonConfusable   Reason = "confusable"
)

// Error is a refusal. Compare it with the sentinels by [errors.Is], or get the details by
// [errors.As]. Fields that do not apply to the code are zero. As JSON its members have the names
// of the HTTP API; dibshttp.WriteProblem writes the whole problem document.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"detail"` // what is wrong and what to do next, for a person

	Field       string    `json:"field,omitempty"`       // the request's Field, or the namespace's type
	Namespace   string    `json:"namespace,omitempty"`   // of the request
	Key         string    `json:"key,omitempty"`         // namespace:canonical; empty if the value is not valid
	Reason      Reason    `json:"reason,omitempty"`      // NAME_TAKEN: why
	Until       time.Time `json:"until,omitzero"`        // NAME_TAKEN: when the name may become free; zero if that is unknown
	Suggestions []string  `json:"suggestions,omitempty"` // NAME_TAKEN and INVALID_VALUE: names that were free
	Refusal     *Refusal  `json:"refusal,omitempty"`     // INVALID_VALUE: which rule, where, and what would be accepted; nil if the profile gave none
	Cause       Cause     `json:"cause,omitempty"`       // UNAVAILABLE and OUTCOME_UNKNOWN: what is wrong with the engine; empty if it is unknown

	// Failures are the refused parts of a list. Code is that of the first.
	Failures []Failure `json:"errors,omitempty"`

	wrapped error // the cause, for logs
}

// Failure is a refused part of a list.
type Failure struct {
	Index int // the position in the list, from 0
	Err   *Error
}

// MarshalJSON writes the index as a further member of the error.
func (f Failure) MarshalJSON() ([]byte, error) {
	type members Error // without its methods
	return json.Marshal(struct {
		Index int `json:"index"`
		*members
	}{f.Index, (*members)(f.Err)})
}

// Error returns the code, the message and the wrapped cause.
func (e *Error) Error() string {
	text := fmt.Sprintf("dibs: %s: %s", e.Code, e.Message)
	if e.wrapped != nil {
		text += ": " + e.wrapped.Error()
	}
	return text
}

// Is matches the sentinel of the error's code.
func (e *Error) Is(target error) bool {
	s, ok := target.(*codeError)
	return ok && s.code == e.Code
}

// Unwrap returns the cause, such as the error of a context.
func (e *Error) Unwrap() error { return e.wrapped }

// OutcomeUnknown returns the error for a commit that may or may not have happened. Engines
// return it from Commit; a retry with the same token finds out the outcome.
func OutcomeUnknown(cause error) *Error {
	return &Error{
		Code:    CodeOutcomeUnknown,
		Message: "it may have happened; run the same command with the same token to find out",
		wrapped: cause,
	}
}

// Unavailable returns the error for an engine that did nothing: it cannot be reached, is
// closed, or its disk is full.
func Unavailable(cause error) *Error {
	return &Error{Code: CodeUnavailable, Message: "nothing happened; try again later", wrapped: cause}
}

// Moved returns the error for a registry that takes no more commits, because it has moved to
// another place.
func Moved(place string) *Error {
	cause := "this registry has moved to " + place
	return &Error{Code: CodeUnavailable, Message: cause + ": nothing happened; use it there", Cause: Cause(cause)}
}

// Cause says in a few words why an engine failed. Callers get it instead of the driver's own
// text, which is only logged.
type Cause string

// The causes. Later versions may add some.
const (
	CauseNoAnswer    Cause = "no answer from the database"
	CauseDiskFull    Cause = "disk full"
	CauseDiskFails   Cause = "disk failure"
	CauseReadOnly    Cause = "database read-only"
	CauseStandby     Cause = "synchronous standby missing"
	CauseConnections Cause = "too many database connections"
	CauseLogin       Cause = "login refused by the database"
	CauseLocked      Cause = "database locked"
	CauseTooSlow     Cause = "database too slow"
	CauseClock       Cause = "clocks differ too much"
)

// Because returns the error with a cause, which also begins its message; empty changes nothing.
func (e *Error) Because(cause Cause) *Error {
	if cause == "" {
		return e
	}
	because := *e
	because.Cause, because.Message = cause, string(cause)+": "+e.Message
	return &because
}
