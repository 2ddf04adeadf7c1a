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

// usageError is a command line that is not right.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// answeredError is the end of a verb that has said everything in its answer, which was
// not the one that was hoped for.
type answeredError struct{ code int }

func (a answeredError) Error() string { return fmt.Sprintf("exit code %d", a.code) }

// exitCode tells a script what became of the command.
func exitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return ExitUsage
	}
	if said, ok := errors.AsType[answeredError](err); ok {
		return said.code
	}
	if failed, ok := errors.AsType[*apiError](err); ok {
		return failed.exit()
	}
	if errors.Is(err, auth.ErrKeyNameTaken) {
		return ExitTaken
	}
	if errors.Is(err, auth.ErrKeyNotFound) {
		return ExitNotFound
	}
	if status, ok := errors.AsType[*dibsclient.StatusError](err); ok && isDenied(status) {
		return ExitRefused
	}
	if errors.Is(err, dibs.ErrUnsupported) || errors.Is(err, dibs.ErrBadCursor) {
		return ExitRefused
	}
	if refused, ok := errors.AsType[*dibs.Error](err); ok {
		return codeExit(refused.Code)
	}
	return ExitUnexpected
}

// isDenied reports that a server wants a key, or another one.
func isDenied(e *dibsclient.StatusError) bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
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
