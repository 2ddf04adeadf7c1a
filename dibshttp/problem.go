package dibshttp

import (
	"net/http"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// WriteProblem responds with the problem document (RFC 9457) for an error of a Registry: status,
// headers and members are those of a Dibs server. A handler that gets a refusal passes it on:
//
//	hold, err := registry.Reserve(r.Context(), reserve)
//	if err != nil {
//		dibshttp.WriteProblem(w, err)
//		return
//	}
//
// Every other error is 500 INTERNAL without its text, which may contain more than clients should
// know: log it before. The document of a taken name says so to anyone who asks: for names that
// are private, such as emails, see [HideTaken].
func WriteProblem(w http.ResponseWriter, err error) {
	p, _ := wire.ProblemFor(err)
	p.Send(w)
}

// HideTaken returns a refusal without the parts that say that a name of this field is taken. Use it
// for emails: that a person has an account is no business of a visitor who types that person's
// email. It returns nil if nothing else was refused: respond as to a new email, and send a mail.
// Every other error is returned as it is.
//
//	if err = dibshttp.HideTaken(err, "email"); err == nil { … } // "we have sent you a mail"
func HideTaken(err error, field string) error {
	refused := wire.RefusalIn(err)
	if refused == nil {
		return err
	}
	isTaken := func(e *dibs.Error) bool { return e.Field == field && e.Code == dibs.CodeNameTaken }
	if len(refused.Failures) == 0 && isTaken(refused) {
		return nil
	}
	shown := slices.DeleteFunc(slices.Clone(refused.Failures), func(f dibs.Failure) bool { return isTaken(f.Err) })
	switch len(shown) {
	case len(refused.Failures):
		return err
	case 0:
		return nil
	}
	// The message counts and quotes the parts, and the code is that of the first.
	return &dibs.Error{Code: shown[0].Err.Code, Message: "some of the names are refused: errors has each of them", Failures: shown}
}
