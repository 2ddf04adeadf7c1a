package cli

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/auth"
)

// The exit codes. Scripts rely on them.
const (
	ExitOK          = 0
	ExitUnexpected  = 1
	ExitUsage       = 2
	ExitTaken       = 3
	ExitNotFound    = 4
	ExitRefused     = 5
	ExitUnavailable = 6
)

// knownErrors are the errors without a code of the library, and how they are reported.
var knownErrors = []struct {
	err    error
	exit   int
	status int
	code   string
}{
	{dibs.ErrBadCursor, ExitRefused, http.StatusUnprocessableEntity, "INVALID_CURSOR"},
	{dibs.ErrUnsupported, ExitRefused, http.StatusNotImplemented, "UNSUPPORTED"},
	{auth.ErrKeyNameTaken, ExitTaken, http.StatusConflict, "KEY_NAME_TAKEN"},
	{auth.ErrKeyNotFound, ExitNotFound, http.StatusNotFound, "KEY_NOT_FOUND"},
}

// usageError is an error in the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// exitError sets the exit code of a command whose answer already says what is wrong.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return ExitUsage
	}
	if exit, ok := errors.AsType[exitError](err); ok {
		return exit.code
	}
	if failed, ok := errors.AsType[*apiError](err); ok {
		return failed.exit()
	}
	for _, known := range knownErrors {
		if errors.Is(err, known.err) {
			return known.exit
		}
	}
	if status, ok := errors.AsType[*dibsclient.StatusError](err); ok && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden) {
		return ExitRefused
	}
	if refused, ok := errors.AsType[*dibs.Error](err); ok {
		return codeExit(refused.Code)
	}
	return ExitUnexpected
}

func codeExit(code dibs.Code) int {
	switch code {
	case dibs.CodeNameTaken:
		return ExitTaken
	case dibs.CodeNotFound, dibs.CodeEntityNotFound:
		return ExitNotFound
	case dibs.CodeUnavailable, dibs.CodeOutcomeUnknown:
		return ExitUnavailable
	default:
		return ExitRefused
	}
}
