package cli

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/wire"
)

// report writes an error: as text to stderr, or as JSON to stdout.
func (s *session) report(err error) {
	_, printed := errors.AsType[exitError](err)
	switch {
	case err == nil || printed:
	case s.json:
		s.writeJSON(problemOf(err))
	default:
		s.explain(err)
	}
}

// problemOf converts an error to a problem of the API.
func problemOf(err error) *wire.Problem {
	text := plainText(err)
	if refused, ok := errors.AsType[*dibs.Error](err); ok {
		return wire.ProblemOf(refused)
	}
	if wrong, ok := errors.AsType[*usageError](err); ok {
		return wire.NewProblem(http.StatusBadRequest, "USAGE", plainText(wrong))
	}
	if failed, ok := errors.AsType[*apiError](err); ok {
		return &failed.problem
	}
	for _, known := range knownErrors {
		if errors.Is(err, known.err) {
			return wire.NewProblem(known.status, known.code, text)
		}
	}
	if status, ok := errors.AsType[*dibsclient.StatusError](err); ok && status.Code != "" {
		return wire.NewProblem(status.Status, status.Code, status.Detail)
	}
	return wire.NewProblem(http.StatusInternalServerError, "UNEXPECTED", text)
}

// plainText returns the text of an error without its package prefix.
func plainText(err error) string {
	text := strings.TrimPrefix(err.Error(), "dibs: ")
	return strings.TrimSpace(strings.TrimPrefix(text, "keys: "))
}

// explain writes an error as text, with hints.
func (s *session) explain(err error) {
	fmt.Fprintf(s.Stderr, "dibs: %s\n", clean(plainText(err)))
	status, ok := errors.AsType[*dibsclient.StatusError](err)
	failed, called := errors.AsType[*apiError](err)
	if ok && status.Status == http.StatusUnauthorized || called && failed.problem.Status == http.StatusUnauthorized {
		fmt.Fprintln(s.Stderr, "  set DIBS_KEY to an API key; to make one, run dibs keys create with the store")
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
	if hint, ok := hints[e.Code]; ok {
		say("%s", hint)
	}
}

// hints name the commands that help, by error code.
var hints = map[dibs.Code]string{
	dibs.CodeLost:             "to see the present owner: dibs get ID",
	dibs.CodeAlreadyExpired:   "to reserve it again: dibs reserve",
	dibs.CodeAlreadyReleased:  "to reserve it again: dibs reserve",
	dibs.CodeAlreadyConfirmed: "to give it up: dibs decommission; to give it away: dibs transfer",
	dibs.CodeEntityHasName:    "to make its present name an alias: --replace, or dibs rename",
	dibs.CodeEntityArchived:   "to bring it back: dibs restore",
	dibs.CodeNotOwner:         "to see the owner: dibs get NAMESPACE VALUE",
	dibs.CodeVersionMismatch:  "to see the present version: dibs entity",
	dibs.CodeReservedWord:     "to take it with the right overrideReserved: --override-reserved",
}
