package server

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/limit"
)

type infoKey struct{}

// requestInfo is what the server knows about a request: its caller, and what limits count it by.
type requestInfo struct {
	caller  access.Caller
	visitor limit.Visitor
	kind    kind
	header  http.Header // of the response
	fresh   bool        // it asks for a fresh answer
	hidden  atomic.Bool // a reservation was hidden from the caller
}

// adapter gives the API library the routes of a server. Each of its calls authenticates.
type adapter struct{ *Server }

// Handle adds a call.
func (a adapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	kind, quick := kindOf(op), a.quick[op.OperationID]
	a.handle(op.Method+" "+op.Path, func(x *exchange, r *http.Request) {
		leave, p := a.authenticate(x, r, kind)
		if p != nil {
			writeProblem(x, p)
			return
		}
		defer leave()
		if quick == nil || !quick(x, r) {
			handler(humago.NewContext(op, r, x))
		}
		if x.context.info.hidden.Load() {
			a.cfg.Metrics.deny(access.Hidden)
		}
	})
}

// authenticate identifies the caller and checks its limits, before the body is read.
func (s *Server) authenticate(x *exchange, r *http.Request, kind kind) (leave func(), p *problem) {
	info := &x.context.info
	info.kind, info.header = kind, x.Header()
	info.fresh = strings.Contains(strings.ToLower(r.Header.Get("Cache-Control")), "no-cache")
	info.visitor = s.limits.proxies.Visitor(r)
	if info.caller, p = s.signIn(r, info.visitor); p != nil {
		return nil, p
	}
	if p := s.charge(info, kind, 1); p != nil {
		return nil, p
	}
	if leave, p = s.takeShare(r, info.caller.Name); p != nil {
		return nil, p
	}
	x.conn.markAuthenticated()
	if unbounded(r) {
		_ = http.NewResponseController(x).SetWriteDeadline(time.Time{})
	}
	return leave, nil
}

// identify returns the caller of a request, or a problem. If there is an Authorization header,
// it alone decides; if not, the session of a browser does, and then the client certificate.
func (s *Server) identify(r *http.Request) (access.Caller, *problem) {
	if s.cfg.Authenticate == nil {
		return access.Everything, nil
	}
	ctx := r.Context()
	if unbounded(r) { // its context has no deadline
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.cfg.RequestTimeout)
		defer cancel()
	}
	authorization := r.Header.Get("Authorization")
	if len(r.Header.Values("Authorization")) > 1 { // a proxy in front may have checked another of them
		return access.Caller{}, s.signInProblem(&access.RefusedError{
			Reason: access.SeveralCredentials, Detail: "the request has more than one Authorization header: send only one",
		}, true)
	}
	if id := sessionOf(r); id != "" && s.cfg.SignIn != nil && authorization == "" {
		return s.identifySession(r.WithContext(ctx), id)
	}
	if c := certificateOf(r); c != nil && s.cfg.Certificate != nil && authorization == "" {
		caller, err := s.cfg.Certificate(ctx, c)
		return caller, s.signInProblem(err, false)
	}
	secret := bearer(r)
	caller, err := s.cfg.Authenticate(ctx, secret)
	return caller, s.signInProblem(err, secret != "")
}

// bearer returns the key or the token of a request; empty if there is none.
func bearer(r *http.Request) string {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(secret)
}

// certificateOf returns the client certificate that TLS has verified, or nil.
func certificateOf(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	return r.TLS.VerifiedChains[0][0]
}

// signInProblem returns the problem for an error of authentication, and counts it; nil for no
// error. Shown says whether the request had a key or a token.
func (s *Server) signInProblem(err error, shown bool) *problem {
	var refusal *access.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal) && refusal.Passing():
		s.cfg.Metrics.deny(refusal.Reason)
		return newProblem(http.StatusServiceUnavailable, string(dibs.CodeUnavailable), refusal.Detail)
	case errors.As(err, &refusal):
	case !errors.Is(err, auth.ErrUnknownKey):
		return s.problemOf(err)
	case !shown:
		refusal = &access.RefusedError{
			Reason: access.NoCredentials,
			Detail: "this server requires an API key, or a token of a trusted issuer: send the header \"Authorization: Bearer dibs_…\"",
		}
	default:
		refusal = &access.RefusedError{Reason: access.UnknownKey, Detail: "this API key is unknown, revoked or expired"}
	}
	s.cfg.Metrics.deny(refusal.Reason)
	challenge := `Bearer realm="dibs"`
	if shown { // RFC 6750, section 3.1
		challenge += `, error="invalid_token"`
	}
	p := newProblem(http.StatusUnauthorized, "UNAUTHORIZED", refusal.Detail)
	p.header = http.Header{"Www-Authenticate": {challenge}}
	return p
}

// infoOf returns the info of a request. Without one it returns an info whose caller has no
// rights.
func infoOf(ctx context.Context) *requestInfo {
	if v, ok := ctx.Value(infoKey{}).(*requestInfo); ok {
		return v
	}
	return &requestInfo{}
}

func callerOf(ctx context.Context) access.Caller { return infoOf(ctx).caller }

// registry returns the Registry acting for the caller, with the caller's rights in each
// namespace.
func (s *Server) registry(ctx context.Context) *dibs.Registry {
	info := infoOf(ctx)
	return s.cfg.Registry.As(dibs.Principal{Name: info.caller.Name, Grants: info})
}

// reader answers queries that allow a stale answer: the registry, or a cache in front of it.
type reader interface {
	Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error)
	Check(ctx context.Context, request dibs.CheckRequest) ([]dibs.Availability, error)
}

// reader returns the cache if there is one and the request allows it, else the registry. The
// answers do not depend on the caller, whose rights the server has checked.
func (s *Server) reader(ctx context.Context) reader {
	if s.cfg.Cache == nil || infoOf(ctx).fresh {
		return s.cfg.Registry
	}
	return s.cfg.Cache
}

// Allow reports whether the caller may apply a command to a reservation in a namespace.
func (r *requestInfo) Allow(command dibs.Command, namespace string) bool {
	for _, verb := range access.VerbsOf(command) {
		if !r.finds(verb, namespace) {
			return false
		}
	}
	return true
}

// canGet reports whether the caller may see a reservation in a namespace.
func (r *requestInfo) canGet(namespace string) bool { return r.finds(access.Get, namespace) }

// finds reports whether reservations of a namespace exist for the caller. If not, the caller is
// told that there is no such reservation, and the request counts as denied.
func (r *requestInfo) finds(verb access.Verb, namespace string) bool {
	if r.caller.May(verb, namespace) {
		return true
	}
	r.hidden.Store(true)
	return false
}

// RightsIn returns the special rights of the caller in a namespace.
func (r *requestInfo) RightsIn(namespace string) dibs.Rights { return r.caller.RightsIn(namespace) }

// allNamespaces, as a namespace, means all of them.
const allNamespaces = ""

// may returns a problem if the caller has no right to a verb in a namespace.
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

// mayInScope returns a problem if the caller has no right to a verb in a whole scope. An entity
// has names in every namespace of its scope.
func (s *Server) mayInScope(ctx context.Context, verb access.Verb, scope string) error {
	if callerOf(ctx).MayInScope(verb, scope) {
		return nil
	}
	all, has := "'*'", "nowhere"
	if scope != "" {
		all = "'" + scope + ".*'"
	}
	if patterns := callerOf(ctx).Patterns(verb); len(patterns) > 0 {
		has = "only in " + strings.Join(patterns, ", ")
	}
	return s.forbids(fmt.Sprintf("this call is about a whole entity, which needs the right %q in %s; this caller has it %s", verb, all, has))
}

// maySomewhere returns a problem if the caller lacks one of the verbs in every namespace: such a
// caller does not learn whether a reservation exists. For all others the registry decides,
// because only the record has the namespace.
func (s *Server) maySomewhere(ctx context.Context, verbs ...access.Verb) error {
	for _, verb := range verbs {
		if !callerOf(ctx).MaySomewhere(verb) {
			return s.forbidden(verb, "in any namespace")
		}
	}
	return nil
}

func (s *Server) forbidden(verb access.Verb, where string) *problem {
	return s.forbids(fmt.Sprintf("this caller lacks the right %q %s", verb, where))
}

func (s *Server) forbids(detail string) *problem {
	s.cfg.Metrics.deny(access.Forbidden)
	return newProblem(http.StatusForbidden, "FORBIDDEN", detail)
}

// signIn returns the caller of a request, or a problem. An address with too many failures is
// rejected without authentication. Credentials that were accepted from that address before still
// are, so that one client cannot lock out others behind the same address.
func (s *Server) signIn(r *http.Request, from limit.Visitor) (access.Caller, *problem) {
	buckets := s.limits.signIns
	if buckets == nil || !from.Known || s.cfg.Authenticate == nil {
		return s.identify(r)
	}
	address, shown := from.Addr.String(), credentials(r)
	if verdict := buckets.Peek(from.Addr, 1); !verdict.OK && !s.limits.goodCredentials.Has(address, shown) {
		return access.Caller{}, s.tooMany(bySignIn, "signIn", buckets.Rate(), verdict, "too many failed sign-ins from this address")
	}
	caller, p := s.identify(r)
	switch {
	case p == nil:
		s.limits.goodCredentials.Add(address, shown)
	case p.Status == http.StatusUnauthorized && bySession(r) && s.limits.goodCredentials.Has(address, shown):
		// The session is over, and its page may have sent many requests.
	case p.Status == http.StatusUnauthorized:
		buckets.Take(from.Addr, 1)
	}
	return caller, p
}

// bySession reports whether the session of a browser decides who the caller is.
func bySession(r *http.Request) bool {
	return r.Header.Get("Authorization") == "" && sessionOf(r) != ""
}

// credentials returns the Authorization header, the session of a browser, or the signature of the
// client certificate.
func credentials(r *http.Request) string {
	if header := r.Header.Get("Authorization"); header != "" {
		return header
	}
	if id := sessionOf(r); id != "" {
		return id
	}
	if c := certificateOf(r); c != nil {
		return string(c.Signature)
	}
	return ""
}
