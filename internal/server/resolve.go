package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/redirect"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *Server) registerResolve() {
	operation := func(method, path, id, summary string, moved ...int) huma.Operation {
		op := s.operation(method, path, id, summary, tagNames, 404, 410, 422)
		op.Responses = movedResponses("An old name: Location is the resolve call for the present name.", moved...)
		return op
	}
	register(s, operation(http.MethodGet, "/v1/resolve/{namespace}/{value}", "resolve", "Ask where a name leads\n200 with the entity of a present name; a redirect from an old name to the present one, in one hop; 404; or 410 for a name that led to an entity once.", 301, 302, 307, 308), s.resolveName)
	register(s, operation(http.MethodPost, "/v1/resolve/{namespace}/{value}", "followResolve", "Follow a redirect of POST /v1/resolve", 307, 308),
		func(ctx context.Context, in *ByName) (*resolved, error) { return s.resolveInURL(ctx, in, keepMethod) })
	register(s, operation(http.MethodPost, "/v1/resolve", "lookUpResolve", "Ask where a name leads whose value does not belong in a URL\nFor values that must not end up in logs of URLs, such as emails.", 307, 308),
		s.lookUpResolve)

	// Reverse proxies send this call for each request before they let the request through.
	proxied := s.operation(http.MethodGet, "/v1/resolve", "resolveForwarded", "Ask, as a reverse proxy, where the name in a visitor's URL leads\nFor proxies that ask before they let a request through: nginx with auth_request, Caddy with forward_auth.", tagNames, 404, 410, 422)
	proxied.Responses = movedResponses("An old name, or another spelling: Location is the visitor's URL with the present name in it.", 301, 302, 307, 308)
	proxied.Middlewares = append(proxied.Middlewares, variesByVisitor)
	register(s, proxied, s.resolveForwarded)
}

func movedResponses(description string, statuses ...int) map[string]*huma.Response {
	responses := make(map[string]*huma.Response)
	for _, status := range statuses {
		responses[fmt.Sprint(status)] = &huma.Response{
			Description: description,
			Headers:     map[string]*huma.Param{"Location": {Schema: &huma.Schema{Type: huma.TypeString}}},
			Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Ref: "#/components/schemas/Resolution"}}},
		}
	}
	return responses
}

// keepMethod returns the redirect status that keeps the method POST.
func keepMethod(status int) int { return redirect.Status(status, http.MethodPost) }

// resolved is the target of a name, with headers for reverse proxies.
type resolved struct {
	Status       int
	CacheControl string `header:"Cache-Control"`
	Location     string `header:"Location"`
	EntityType   string `header:"Dibs-Entity-Type"`
	EntityID     string `header:"Dibs-Entity-Id"`
	Body         wire.Resolution
}

func (s *Server) resolveName(ctx context.Context, in *ByName) (*resolved, error) {
	return s.resolveInURL(ctx, in, func(status int) int { return status })
}

type lookUpResolveInput struct {
	Redirect string `header:"Dibs-Redirect" enum:"no" doc:"With \"no\" an old name is answered with 200 in place of a redirect: pages in a browser cannot read the answer of a redirect."`
	Body     NameInBody
}

func (s *Server) lookUpResolve(ctx context.Context, in *lookUpResolveInput) (*resolved, error) {
	if err := s.may(ctx, access.Resolve, in.Body.Namespace); err != nil {
		return nil, err
	}
	out, err := s.resolve(ctx, in.Body.Namespace, in.Body.Value, keepMethod)
	if err == nil && in.Redirect != "" {
		out.Status, out.Location = http.StatusOK, ""
	}
	return out, err
}

func (s *Server) resolveInURL(ctx context.Context, in *ByName, redirect func(int) int) (*resolved, error) {
	if err := s.mayInURL(ctx, access.Resolve, in.Namespace, "/v1/resolve"); err != nil {
		return nil, err
	}
	return s.resolve(ctx, in.Namespace, in.Value, redirect)
}

func (s *Server) resolve(ctx context.Context, namespace, value string, redirect func(int) int) (*resolved, error) {
	r, err := s.reader(ctx).Resolve(ctx, namespace, value)
	if err != nil {
		return nil, err
	}
	keep := s.keepExact
	if r.Age > 0 {
		keep = cacheControl(s.cfg.MaxStale - r.Age)
	}
	if r.Outcome == dibs.ResolveNotFound || r.Outcome == dibs.ResolveGone {
		p := unresolved(r)
		// A caller without the right to the name learns only that it does not resolve.
		if r.Archived && callerOf(ctx).May(access.Get, namespace) {
			p.Archived, p.Detail = true, p.Detail+": its entity is archived"
		}
		p.header = http.Header{"Cache-Control": {keep}}
		return nil, p
	}
	out := &resolved{
		Status: r.Status, CacheControl: keep, EntityType: headerText(r.Entity.Type), EntityID: headerText(r.Entity.ID), Body: wire.ResolutionOf(r),
	}
	if r.To != nil {
		out.Status = redirect(r.Status)
		// The canonical form in a blind namespace is a keyed hash, which cannot be resolved.
		if policy, err := s.cfg.Registry.Policy(namespace); err != nil || len(policy.Blind) == 0 {
			out.Location = resolvePath(r.To.Namespace, r.To.Canonical)
		}
	}
	return out, nil
}

// cacheControl returns the Cache-Control of a resolution that clients may keep for a time.
func cacheControl(d time.Duration) string {
	return "max-age=" + strconv.Itoa(int(max(0, d)/time.Second))
}

func unresolved(r dibs.Resolution) *problem {
	p := newProblem(r.Status, string(dibs.CodeNotFound), "this name does not resolve")
	switch {
	case r.Outcome == dibs.ResolveGone:
		p = newProblem(r.Status, "GONE", "this name no longer resolves")
	case r.Status == http.StatusGone:
		p = newProblem(r.Status, "GONE", "this name does not resolve at present")
	}
	p.Outcome, p.Canonical, p.AgeMs = string(r.Outcome), r.Canonical, wire.AgeMs(r.Age)
	p.Until = wire.FormatTime(r.Until)
	return p
}

// headerText percent-encodes what is not visible ASCII, to make a text fit for a header.
func headerText(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '%' }) {
		return s
	}
	var out []byte
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' || s[i] == '%' {
			out = fmt.Appendf(out, "%%%02X", s[i])
		} else {
			out = append(out, s[i])
		}
	}
	return string(out)
}

// resolvePath returns the path that resolves a name. The values "." and ".." are escaped too:
// as a segment they would change the path.
func resolvePath(namespace, value string) string {
	escaped := url.PathEscape(value)
	if value == "." || value == ".." {
		escaped = strings.ReplaceAll(value, ".", "%2E")
	}
	return "/v1/resolve/" + url.PathEscape(namespace) + "/" + escaped
}

// variesByVisitor tells caches that the response depends on the visitor's request. The proxy's
// own URL is the same for all visitors.
func variesByVisitor(ctx huma.Context, next func(huma.Context)) {
	ctx.AppendHeader("Vary", "X-Forwarded-Uri, X-Forwarded-Method")
	next(ctx)
}

type forwardedInput struct {
	Namespace string `query:"namespace" required:"true" example:"slug"`
	Prefix    string `query:"prefix" default:"/" doc:"The path before the name; * is any one segment." example:"/w/"`
	Refuse    int    `query:"refuse" enum:"403" doc:"Answer with this status instead of 3xx, 404 and 410, for proxies that support no other. Dibs-Status has the original."`
	URI       string `header:"X-Forwarded-Uri" doc:"Required: the path and query of the visitor's request, as sent." example:"/w/alice-bob?page=2"`
	Method    string `header:"X-Forwarded-Method" default:"GET" doc:"The visitor's method."`
}

type forwarded struct {
	Status       int
	DibsStatus   int    `header:"Dibs-Status" doc:"The status for the visitor."`
	CacheControl string `header:"Cache-Control"`
	Location     string `header:"Location"`
	EntityType   string `header:"Dibs-Entity-Type"`
	EntityID     string `header:"Dibs-Entity-Id"`
	Body         wire.Resolution
}

func (s *Server) resolveForwarded(ctx context.Context, in *forwardedInput) (*forwarded, error) {
	if err := s.mayInURL(ctx, access.Resolve, in.Namespace, "/v1/resolve"); err != nil {
		return nil, err
	}
	prefix, err := redirect.ParsePrefix(in.Prefix)
	if err != nil {
		return nil, newProblem(http.StatusUnprocessableEntity, "INVALID_REQUEST", err.Error())
	}
	if in.URI == "" {
		return nil, newProblem(http.StatusUnprocessableEntity, "INVALID_REQUEST", "the header X-Forwarded-Uri is missing: the proxy must send the path and query of the visitor's request")
	}
	name, r := nameIn(prefix, in.URI), notResolved
	if name.Value != "" {
		if r, err = s.reader(ctx).Resolve(ctx, in.Namespace, name.Value); err != nil {
			return nil, err
		}
	}
	return s.answerProxy(name, r, in)
}

// notResolved is the resolution of a path without a name.
var notResolved = dibs.Resolution{Outcome: dibs.ResolveNotFound, Status: http.StatusNotFound}

func (s *Server) answerProxy(name redirect.Match, r dibs.Resolution, in *forwardedInput) (*forwarded, error) {
	out := &forwarded{
		Status: r.Status, CacheControl: visitorCacheControl(s.cfg.MaxStale - r.Age),
		EntityType: headerText(r.Entity.Type), EntityID: headerText(r.Entity.ID), Body: wire.ResolutionOf(r),
	}
	if to := present(r); to != "" && to != name.Value {
		if r.Outcome == dibs.ResolveActive {
			out.Status = http.StatusMovedPermanently // the policy's status is for old names
		}
		out.Status = redirect.Status(out.Status, in.Method)
		var fits bool
		if out.Location, fits = name.Replace(to); !fits {
			r, out.Status = notResolved, http.StatusNotFound
		}
	}
	out.DibsStatus = out.Status
	switch {
	case out.Status >= http.StatusBadRequest:
		return nil, out.refusal(unresolved(r), in.Refuse)
	case out.Location != "" && in.Refuse != 0:
		return nil, out.refusal(newProblem(out.Status, "MOVED", "this name has moved: see Location"), in.Refuse)
	}
	return out, nil
}

// refusal returns the response as a problem, with the status that the proxy wants instead, if any.
func (f *forwarded) refusal(p *problem, status int) *problem {
	p.header = http.Header{"Cache-Control": {f.CacheControl}, "Dibs-Status": {strconv.Itoa(f.DibsStatus)}}
	if f.Location != "" {
		p.header.Set("Location", f.Location)
	}
	if status != 0 {
		p.Status = status
	}
	return p
}

// visitorCacheControl returns the Cache-Control of a response that a proxy passes on. Without
// must-revalidate a disconnected cache might use it for longer.
func visitorCacheControl(maxStale time.Duration) string {
	if maxStale < time.Second {
		return "no-store"
	}
	return fmt.Sprintf("max-age=%d, must-revalidate", maxStale/time.Second)
}

// nameIn finds the name in a visitor's request. It finds none in a path with dot segments:
// proxies clean such a path before they route it, so it would reach another target.
func nameIn(prefix redirect.Prefix, uri string) redirect.Match {
	u, err := url.ParseRequestURI(uri)
	if err != nil || u.Scheme != "" || u.Host != "" || redirect.HasDots(u.EscapedPath()) {
		return redirect.Match{}
	}
	found, _ := prefix.FindIn(u)
	return found
}

// present returns the active name that a resolution leads to; empty if there is none.
func present(r dibs.Resolution) string {
	switch {
	case r.Outcome == dibs.ResolveActive:
		return r.Canonical
	case r.To != nil:
		return r.To.Canonical
	default:
		return ""
	}
}
