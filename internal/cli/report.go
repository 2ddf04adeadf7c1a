package cli

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/wire"
)

// report tells what went wrong: a person on stderr, a program on stdout.
func (s *session) report(err error) {
	_, said := errors.AsType[answeredError](err)
	switch {
	case err == nil || said:
	case s.json:
		s.writeJSON(problemOf(err))
	default:
		s.explain(err)
	}
}

// problemOf is an error as the API has it.
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
	if errors.Is(err, dibs.ErrBadCursor) {
		return wire.NewProblem(http.StatusUnprocessableEntity, "INVALID_CURSOR", text)
	}
	if errors.Is(err, dibs.ErrUnsupported) {
		return wire.NewProblem(http.StatusNotImplemented, "UNSUPPORTED", text)
	}
	if errors.Is(err, auth.ErrKeyNameTaken) {
		return wire.NewProblem(http.StatusConflict, "KEY_NAME_TAKEN", text)
	}
	if errors.Is(err, auth.ErrKeyNotFound) {
		return wire.NewProblem(http.StatusNotFound, "KEY_NOT_FOUND", text)
	}
	if status, ok := errors.AsType[*dibsclient.StatusError](err); ok && status.Code != "" {
		return wire.NewProblem(status.Status, status.Code, status.Detail)
	}
	return wire.NewProblem(http.StatusInternalServerError, "UNEXPECTED", text)
}

// plainText is an error without the package that it comes from.
func plainText(err error) string {
	return strings.TrimSpace(strings.TrimPrefix(err.Error(), "dibs: "))
}

// explain writes an error for a person: what is wrong, then what to try.
func (s *session) explain(err error) {
	fmt.Fprintf(s.Stderr, "dibs: %s\n", clean(plainText(err)))
	status, ok := errors.AsType[*dibsclient.StatusError](err)
	failed, called := errors.AsType[*apiError](err)
	if ok && status.Status == http.StatusUnauthorized || called && failed.problem.Status == http.StatusUnauthorized {
		fmt.Fprintln(s.Stderr, "  put a key into DIBS_KEY; whoever has the store makes one: dibs keys create")
	}
	refused, ok := errors.AsType[*dibs.Error](err)
	if !ok {
		return
	}
	// The first failure of several is the error itself.
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

// hints say what to try where the message itself cannot know the command line.
var hints = map[dibs.Code]string{
	dibs.CodeLost:             "look who has the name now: dibs get ID",
	dibs.CodeAlreadyExpired:   "reserve it again: dibs reserve",
	dibs.CodeAlreadyReleased:  "reserve it again: dibs reserve",
	dibs.CodeAlreadyConfirmed: "to give it up: dibs decommission; to give it away: dibs transfer",
	dibs.CodeEntityHasName:    "to make its present name an alias: --replace, or dibs rename",
	dibs.CodeEntityArchived:   "to bring it back: dibs restore",
	dibs.CodeNotOwner:         "look who owns the name: dibs get NAMESPACE VALUE",
	dibs.CodeVersionMismatch:  "look at the entity as it is now: dibs entity",
	dibs.CodeReservedWord:     "to take it all the same: --override-reserved, for those with the right",
}
