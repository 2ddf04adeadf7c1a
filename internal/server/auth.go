package server

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/keys"
	"github.com/calldibs/dibs/internal/limit"
)

type visitKey struct{}

// visit is a request's caller, and what it is counted by.
type visit struct {
	caller  access.Caller
	visitor limit.Visitor
	kind    kind
	header  http.Header // of the answer
}

// authenticate finds out who asks, before anything of the request is read.
func (s *Server) authenticate(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	visit := &visit{visitor: s.limits.proxies.Visitor(r), kind: kindOf(ctx.Operation()), header: w.Header()}
	var p *problem
	if visit.caller, p = s.signIn(r, visit.visitor); p == nil {
		p = s.charge(visit, 1)
	}
	if p != nil {
		writeProblem(w, p)
		return
	}
	next(huma.WithValue(ctx, visitKey{}, visit))
}

// identify returns who a request is from, or says why nobody. An Authorization header
// decides alone; where there is none, the client's certificate does.
func (s *Server) identify(r *http.Request) (access.Caller, *problem) {
	if s.cfg.Authenticate == nil {
		return access.Everything, nil
	}
	authorization := r.Header.Get("Authorization")
	if c := certificateOf(r); c != nil && s.cfg.Certificate != nil && authorization == "" {
		caller, err := s.cfg.Certificate(r.Context(), c)
		return caller, s.notLetIn(err, false)
	}
	secret := bearer(r)
	caller, err := s.cfg.Authenticate(r.Context(), secret)
	return caller, s.notLetIn(err, secret != "")
}

// bearer returns the key or the token of a request, or nothing where there is none.
func bearer(r *http.Request) string {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(secret)
}

// certificateOf returns the certificate of a client, if TLS has found it to be good.
func certificateOf(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	return r.TLS.VerifiedChains[0][0]
}

// notLetIn turns the error of signing in into an answer, and counts it; nil for none.
// Shown is whether there was a key or a token.
func (s *Server) notLetIn(err error, shown bool) *problem {
	var refusal *access.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal) && refusal.Passing():
		s.cfg.Metrics.deny(refusal.Reason)
		return newProblem(http.StatusServiceUnavailable, string(dibs.CodeUnavailable), refusal.Detail)
	case errors.As(err, &refusal):
	case !errors.Is(err, keys.ErrUnknown):
		return s.problemOf(err)
	case !shown:
		refusal = &access.RefusedError{
			Reason: access.NoCredentials,
			Detail: "this server wants an API key, or a token that it trusts: send the header \"Authorization: Bearer dibs_…\"",
		}
	default:
		refusal = &access.RefusedError{Reason: access.UnknownKey, Detail: "this API key is not known here, or its time is over"}
	}
	s.cfg.Metrics.deny(refusal.Reason)
	p := newProblem(http.StatusUnauthorized, "UNAUTHORIZED", refusal.Detail)
	p.badToken = shown
	return p
}

// visitOf returns the visit that a request is; one of nobody where there is none.
func visitOf(ctx context.Context) *visit {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{}
}

func callerOf(ctx context.Context) access.Caller { return visitOf(ctx).caller }

// registry returns the Registry that acts for whoever asks, with the rights that they
// have in all of these namespaces.
func (s *Server) registry(ctx context.Context, namespaces ...string) *dibs.Registry {
	return s.cfg.Registry.As(callerOf(ctx).Principal(namespaces...))
}

// everywhere stands for all namespaces.
const everywhere = ""

// may refuses a verb in a namespace that the caller has no right to.
func (s *Server) may(ctx context.Context, verb access.Verb, namespace string) error {
	if callerOf(ctx).May(verb, namespace) {
		return nil
	}
	where := "in all namespaces"
	if namespace != everywhere {
		where = "in the namespace " + namespace
	}
	return s.forbidden(verb, where)
}

// mayInScope refuses a verb on an entity, which has names in every namespace of its
// scope.
func (s *Server) mayInScope(ctx context.Context, verb access.Verb, scope string) error {
	if callerOf(ctx).MayInScope(verb, scope) {
		return nil
	}
	where := "outside of any scope"
	if scope != "" {
		where = "in the whole scope " + scope
	}
	return s.forbidden(verb, where)
}

// mayByID refuses a verb on a reservation whose namespace only its row knows, and
// returns that namespace. Who has the same rights everywhere needs no look.
func (s *Server) mayByID(ctx context.Context, verb access.Verb, id dibs.ID) (namespace string, err error) {
	caller := callerOf(ctx)
	switch {
	case caller.May(verb, everywhere) && caller.May(access.ActForOthers, everywhere) == caller.MaySomewhere(access.ActForOthers):
		return everywhere, nil
	case !caller.MaySomewhere(verb): // nor does it learn whether there is such a row
		return "", s.forbidden(verb, "in any namespace")
	}
	name, err := s.cfg.Registry.Get(ctx, dibs.Lookup{ID: id})
	switch {
	case errors.Is(err, dibs.ErrNotFound):
		return "", noReservation(id)
	case err != nil:
		return "", s.problemOf(err)
	case !caller.May(verb, name.Namespace):
		// An id can be computed from a name. Another answer than for one that does not
		// exist would tell which names others have.
		s.cfg.Metrics.deny(access.Hidden)
		return "", noReservation(id)
	}
	return name.Namespace, nil
}

func noReservation(id dibs.ID) *problem {
	return newProblem(http.StatusNotFound, string(dibs.CodeNotFound), "there is no reservation "+id.String())
}

func (s *Server) forbidden(verb access.Verb, where string) *problem {
	s.cfg.Metrics.deny(access.Forbidden)
	return newProblem(http.StatusForbidden, "FORBIDDEN", "this caller has no right to "+string(verb)+" "+where)
}
