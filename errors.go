package dibs

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code names an error for programs, in Go and on the wire.
type Code string

// The codes. Each has a sentinel of the same name for [errors.Is].
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

// The sentinels, for [errors.Is]. The errors that a Registry returns are
// [*Error]s, which carry the details and match their code's sentinel.
var (
	ErrNameTaken        = sentinel(CodeNameTaken, "the name is taken")
	ErrNotFound         = sentinel(CodeNotFound, "no such reservation")
	ErrLost             = sentinel(CodeLost, "the token does not hold the name")
	ErrAlreadyExpired   = sentinel(CodeAlreadyExpired, "the hold's time ran out")
	ErrAlreadyConfirmed = sentinel(CodeAlreadyConfirmed, "the hold was confirmed already")
	ErrAlreadyReleased  = sentinel(CodeAlreadyReleased, "the hold was released already")
	ErrEntityNotFound   = sentinel(CodeEntityNotFound, "no such entity")
	ErrEntityHasName    = sentinel(CodeEntityHasName, "the entity has a name here already")
	ErrEntityArchived   = sentinel(CodeEntityArchived, "the entity is archived")
	ErrNotOwner         = sentinel(CodeNotOwner, "the name is another entity's")
	ErrVersionMismatch  = sentinel(CodeVersionMismatch, "the entity has changed meanwhile")
	ErrInvalidValue     = sentinel(CodeInvalidValue, "the value is not valid")
	ErrReservedWord     = sentinel(CodeReservedWord, "the value is a reserved word")
	ErrInvalidNamespace = sentinel(CodeInvalidNamespace, "the namespace is not well-formed")
	ErrInvalidToken     = sentinel(CodeInvalidToken, "the token is not valid")
	ErrInvalidEntity    = sentinel(CodeInvalidEntity, "the entity is not valid")
	ErrInvalidTTL       = sentinel(CodeInvalidTTL, "the time to live is not valid")
	ErrTTLTooLong       = sentinel(CodeTTLTooLong, "the time to live is too long")
	ErrTooLarge         = sentinel(CodeTooLarge, "too much for one command")
	ErrTooManyHolds     = sentinel(CodeTooManyHolds, "the principal has too many holds")
	ErrOutcomeUnknown   = sentinel(CodeOutcomeUnknown, "it may have happened: ask again with the same token")
	ErrUnavailable      = sentinel(CodeUnavailable, "the engine cannot be reached: nothing happened")
)

// ErrRetryTx is returned inside a transaction of the caller's own when another
// writer was faster and the transaction can no longer commit. Roll it back and
// run the whole of it again.
var ErrRetryTx = errors.New("dibs: the transaction lost a race: roll back and run it again")

// ErrUnsupported is returned for what a Registry cannot do where it stands, such
// as sweeping inside a transaction of the caller's own.
var ErrUnsupported = errors.New("dibs: not supported here")

// codeError is a sentinel: an error that is nothing but its code.
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

// Error is what a Registry returns for a command it refuses. Match it with
// [errors.Is] against the sentinels, or take it out with [errors.As].
type Error struct {
	Code    Code
	Message string // what is wrong and what to do next, for a person

	Field       string    // the request's Field, or the namespace's type
	Namespace   string    // where the name was asked for
	Key         string    // namespace:canonical, once the value is known to be valid
	Reason      Reason    // with NAME_TAKEN: why
	Until       time.Time // with NAME_TAKEN: when it may become free, if a date is known
	Suggestions []string  // with NAME_TAKEN and INVALID_VALUE: names that were free when asked
	Refusal     *Refusal  // with INVALID_VALUE: which rule, where, and what would be accepted; nil where the profile did not say
	Cause       Cause     // with UNAVAILABLE and OUTCOME_UNKNOWN: what is wrong with the engine; empty where it did not say

	// Failures lists every part that failed, of a command or an Apply with
	// several. The Error's own code is that of the first.
	Failures []Failure

	wrapped error // what it was caused by, for logs
}

// Failure is one refused part of a command with several.
type Failure struct {
	Index int // the place in the list, from 0
	Err   *Error
}

// Error returns the code and the message.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "dibs: %s: %s", e.Code, e.Message)
	if e.wrapped != nil {
		fmt.Fprintf(&b, ": %v", e.wrapped)
	}
	return b.String()
}

// Is matches the sentinel of the error's code.
func (e *Error) Is(target error) bool {
	s, ok := target.(*codeError)
	return ok && s.code == e.Code
}

// Unwrap returns what the error was caused by, such as a context's end.
func (e *Error) Unwrap() error { return e.wrapped }

// OutcomeUnknown makes the error for a commit that may or may not have
// happened. Engines return it from Commit; retrying with the same token settles
// the question.
func OutcomeUnknown(cause error) *Error {
	return &Error{
		Code:    CodeOutcomeUnknown,
		Message: "it may have happened; run the same command with the same token to find out",
		wrapped: cause,
	}
}

// Unavailable makes the error for an engine that did nothing: it is out of
// reach, closed, or its disk is full.
func Unavailable(cause error) *Error {
	return &Error{
		Code:    CodeUnavailable,
		Message: "nothing happened; try again later",
		wrapped: cause,
	}
}

// Cause says in a few words why an engine cannot do what it is asked. Callers are told it
// in place of the driver's own text, which stays in the log.
type Cause string

// The causes. There may be more of them in later versions.
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

// Because returns the error with its cause, and with a message that begins with it. An
// empty cause changes nothing.
func (e *Error) Because(cause Cause) *Error {
	if cause == "" {
		return e
	}
	because := *e
	because.Cause, because.Message = cause, string(cause)+": "+e.Message
	return &because
}
