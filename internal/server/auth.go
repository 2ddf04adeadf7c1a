package server

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/keys"
	"github.com/calldibs/dibs/internal/limit"
)

type infoKey struct{}

// visit is a request's caller, and what it is counted by.
type requestInfo struct {
	caller  access.Caller
	visitor limit.Visitor
	kind    kind
	header  http.Header // of the answer
	hidden  atomic.Bool // a reservation was kept from the caller
}

// authenticate finds out who asks, before anything of the request is read.
func (s *Server) authenticate(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	visit := &requestInfo{visitor: s.limits.proxies.Visitor(r), kind: kindOf(ctx.Operation()), header: w.Header()}
	var p *problem
	if visit.caller, p = s.signIn(r, visit.visitor); p == nil {
		p = s.charge(visit, visit.kind, 1)
	}
	leave := func() {}
	if p == nil {
		leave, p = s.takeShare(r, visit.caller.Name)
	}
	if p != nil {
		writeProblem(w, p)
		return
	}
	defer leave()
	welcome(r)
	if lasts(r) {
		lift(w)
	}
	next(huma.WithValue(ctx, infoKey{}, visit))
	if visit.hidden.Load() {
		s.cfg.Metrics.deny(access.Hidden)
	}
}

// identify returns who a request is from, or says why nobody. An Authorization header
// decides alone; where there is none, the client's certificate does.
func (s *Server) identify(r *http.Request) (access.Caller, *problem) {
	if s.cfg.Authenticate == nil {
		return access.Everything, nil
	}
	ctx := r.Context()
	if lasts(r) { // which has no deadline of its own
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.cfg.RequestTimeout)
		defer cancel()
	}
	authorization := r.Header.Get("Authorization")
	if len(r.Header.Values("Authorization")) > 1 { // a proxy in front may have looked at another one of them
		return access.Caller{}, s.notLetIn(&access.RefusedError{
			Reason: access.SeveralCredentials, Detail: "this request has more than one Authorization header: send one",
		}, true)
	}
	if c := certificateOf(r); c != nil && s.cfg.Certificate != nil && authorization == "" {
		caller, err := s.cfg.Certificate(ctx, c)
		return caller, s.notLetIn(err, false)
	}
	secret := bearer(r)
	caller, err := s.cfg.Authenticate(ctx, secret)
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

// infoOf returns the visit that a request is; one of nobody where there is none.
func infoOf(ctx context.Context) *requestInfo {
	if v, ok := ctx.Value(infoKey{}).(*requestInfo); ok {
		return v
	}
	return &requestInfo{}
}

func callerOf(ctx context.Context) access.Caller { return infoOf(ctx).caller }

// registry returns the Registry that acts for the caller, with the rights that it has in
// each namespace.
func (s *Server) registry(ctx context.Context) *dibs.Registry {
	v := infoOf(ctx)
	return s.cfg.Registry.As(dibs.Principal{Name: v.caller.Name, Grants: v})
}

// Allow reports whether the caller may do something to a reservation.
func (v *requestInfo) Allow(command dibs.Command, namespace string) bool {
	for _, verb := range access.VerbsOf(command) {
		if !v.finds(verb, namespace) {
			return false
		}
	}
	return true
}

// canGet reports whether the caller may see a reservation.
func (v *requestInfo) canGet(namespace string) bool { return v.finds(access.Get, namespace) }

// finds reports whether there is a reservation of this namespace for the caller. Where there
// is not, it is told so as if there were none at all, and that is counted.
func (v *requestInfo) finds(verb access.Verb, namespace string) bool {
	if v.caller.May(verb, namespace) {
		return true
	}
	v.hidden.Store(true)
	return false
}

// RightsIn returns what the caller may do beyond the ordinary.
func (v *requestInfo) RightsIn(namespace string) dibs.Rights { return v.caller.RightsIn(namespace) }

// allNamespaces stands for all namespaces.
const allNamespaces = ""

// may refuses a verb in a namespace that the caller has no right to.
func (s *Server) may(ctx context.Context, verb access.Verb, namespace string) error {
	if callerOf(ctx).May(verb, namespace) {
		return nil
	}
	where := "in all namespaces"
	if namespace != allNamespaces {
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

// maySomewhere refuses verbs on a reservation to a caller that has one of them nowhere: it does not
// learn whether there is such a reservation. For all others the registry says whether there
// is one that they may do this to, since only the row knows its namespace.
func (s *Server) maySomewhere(ctx context.Context, verbs ...access.Verb) error {
	for _, verb := range verbs {
		if !callerOf(ctx).MaySomewhere(verb) {
			return s.forbidden(verb, "in any namespace")
		}
	}
	return nil
}

func (s *Server) forbidden(verb access.Verb, where string) *problem {
	s.cfg.Metrics.deny(access.Forbidden)
	return newProblem(http.StatusForbidden, "FORBIDDEN", "this caller has no right to "+string(verb)+" "+where)
}
