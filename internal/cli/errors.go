package cli

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/wire"
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
	ExitFindings    = 7 // of verify
)

// knownErrors are the errors without a code of the library, and how they are reported.
var knownErrors = []struct {
	err    error
	exit   int
	status int
	code   string
}{
	{engine.ErrIncomplete, ExitRefused, http.StatusConflict, "INCOMPLETE_STORE"},
	{snapshot.ErrNotEmpty, ExitRefused, http.StatusConflict, "NOT_EMPTY"},
	{snapshot.ErrOtherSource, ExitRefused, http.StatusConflict, "NOT_EMPTY"},
	{engine.ErrNoStore, ExitNotFound, http.StatusNotFound, "NO_STORE"},
	{dibs.ErrBadCursor, ExitRefused, http.StatusUnprocessableEntity, "INVALID_CURSOR"},
	{dibs.ErrUnsupported, ExitRefused, http.StatusNotImplemented, "UNSUPPORTED"},
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

// report writes an error, as text to stderr or as JSON to stdout, and returns the exit code.
func (s *session) report(err error) int {
	if err == nil {
		return ExitOK
	}
	exit, problem := classify(err)
	switch {
	case problem == nil: // the answer says it
	case s.json:
		s.writeJSON(problem)
	default:
		s.explain(err)
	}
	return exit
}

// classify returns the exit code for an error, and the problem of the API that describes it; nil
// for one that is already printed.
func classify(err error) (exit int, problem *wire.Problem) {
	if wrong, ok := errors.AsType[*usageError](err); ok {
		return ExitUsage, wire.NewProblem(http.StatusBadRequest, "USAGE", plainText(wrong))
	}
	if printed, ok := errors.AsType[exitError](err); ok {
		return printed.code, nil
	}
	if failed, ok := errors.AsType[*apiError](err); ok {
		return failed.exit(), &failed.problem
	}
	for _, known := range knownErrors {
		if errors.Is(err, known.err) {
			return known.exit, wire.NewProblem(known.status, known.code, plainText(err))
		}
	}
	if refused, ok := errors.AsType[*dibs.Error](err); ok {
		problem := wire.ProblemOf(refused)
		if text := plainText(err); text != plainText(refused) {
			problem.Detail = text // it says where
		}
		return codeExit(refused.Code), problem
	}
	exit, problem = ExitUnexpected, wire.NewProblem(http.StatusInternalServerError, "UNEXPECTED", plainText(err))
	if status, ok := errors.AsType[*dibsclient.StatusError](err); ok {
		if status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden {
			exit = ExitRefused
		}
		if status.Code != "" {
			problem = wire.NewProblem(status.Status, status.Code, status.Detail)
		}
	}
	return exit, problem
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

// plainText returns the text of an error without its package prefix.
func plainText(err error) string {
	text := strings.TrimPrefix(err.Error(), "dibs: ")
	return strings.TrimSpace(strings.TrimPrefix(text, "keys: "))
}

// explain writes an error as text, with hints.
func (s *session) explain(err error) {
	fmt.Fprintf(s.Stderr, "%s %s\n", s.paintOn(s.Stderr).in(red, "dibs:"), clean(plainText(err)))
	status, ok := errors.AsType[*dibsclient.StatusError](err)
	failed, called := errors.AsType[*apiError](err)
	if ok && status.Status == http.StatusUnauthorized || called && failed.problem.Status == http.StatusUnauthorized {
		fmt.Fprintln(s.Stderr, "  set DIBS_KEY to an API key; to make one, run dibs keys create with the store, or with a key that has the right keys")
	}
	if errors.Is(err, engine.ErrNoStore) {
		fmt.Fprintln(s.Stderr, "  check the address; to begin a new one: dibs serve, or take a name, with dibs reserve")
	}
	refused, ok := errors.AsType[*dibs.Error](err)
	if !ok {
		return
	}
	// A single failure is the error itself.
	if len(refused.Failures) < 2 {
		s.explainRefusal("  ", refused)
		return
	}
	for _, f := range refused.Failures {
		fmt.Fprintf(s.Stderr, "  number %d: %s: %s\n", f.Index+1, f.Err.Code, clean(f.Err.Message))
		s.explainRefusal("    ", f.Err)
	}
}

func (s *session) explainRefusal(indent string, e *dibs.Error) {
	say := func(format string, args ...any) {
		fmt.Fprintf(s.Stderr, indent+format+"\n", args...)
	}
	if len(e.Suggestions) > 0 {
		say("free when asked: %s", clean(strings.Join(e.Suggestions, ", ")))
	}
	if left := e.Until.Sub(s.Now()); !e.Until.IsZero() && left > 0 {
		say("it may become free in %s", span(left))
	}
	if e.Cause == dibs.CauseDamaged {
		say("no retry helps: restore a backup; to see what is damaged: dibs verify")
	}
	for _, hint := range hints[e.Code] {
		if hint.flag == "" || s.hasFlag(hint.flag) {
			say("%s", hint.text)
		}
	}
}

// hasFlag reports whether the running command has a flag.
func (s *session) hasFlag(name string) bool { return s.running != nil && s.running.Flag(name) != nil }

// hint says what helps after an error. One with a flag is only for commands that have the flag.
type hint struct{ flag, text string }

// hints are what helps, by error code.
var hints = map[dibs.Code][]hint{
	dibs.CodeLost:             {{"", "to see the present owner: dibs get ID"}},
	dibs.CodeAlreadyExpired:   {{"", "to reserve it again: dibs reserve"}},
	dibs.CodeAlreadyReleased:  {{"", "to reserve it again: dibs reserve"}},
	dibs.CodeAlreadyConfirmed: {{"", "to give it up: dibs decommission; to give it away: dibs transfer"}},
	dibs.CodeEntityHasName: {
		{"replace", "to make its present name an alias: --replace"},
		{"", "to give it another name, with a redirect from the present one: dibs rename"},
	},
	dibs.CodeEntityArchived:  {{"", "to bring it back: dibs restore"}},
	dibs.CodeNotOwner:        {{"", "to see the owner: dibs get NAMESPACE VALUE"}},
	dibs.CodeVersionMismatch: {{"", "to see the present version: dibs entity"}},
	dibs.CodeReservedWord:    {{"override-reserved", "to take it with the right overrideReserved: --override-reserved"}},
}
