package dibshttp

import (
	"net/http"

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
// know: log it before. The document of a taken name says so to anyone who asks. For names that
// are private, such as emails, respond with something else.
func WriteProblem(w http.ResponseWriter, err error) {
	p, _ := wire.ProblemFor(err)
	p.Send(w)
}
