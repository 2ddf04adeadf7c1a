package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/redirect"
	"github.com/calldibs/dibs/internal/wire"
)

// forwarding is resolving for reverse proxies, which ask about each request before they
// let it through.
func (s *Server) forwarding() {
	op := s.operation(http.MethodGet, "/v1/resolve", "resolveForwarded", "Ask a proxy's question: where does this request's name lead?", tagNames, 404, 410, 422)
	op.Responses = movedResponses(http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect)
	for _, response := range op.Responses {
		response.Description = "An old name, or another spelling: Location is the visitor's own URL with the present one in it."
	}
	op.Middlewares = append(op.Middlewares, variesByVisitor)
	huma.Register(s.api, op, s.resolveForwarded)
}

// variesByVisitor tells caches that the answer is to what the visitor asked for. The proxy's
// own URL is the same for all of them.
func variesByVisitor(ctx huma.Context, next func(huma.Context)) {
	ctx.AppendHeader("Vary", "X-Forwarded-Uri, X-Forwarded-Method")
	next(ctx)
}

type forwardedInput struct {
	Namespace string `query:"namespace" required:"true" example:"slug"`
	Prefix    string `query:"prefix" default:"/" doc:"The path behind which the name stands; * is any one segment." example:"/w/"`
	Refuse    int    `query:"refuse" enum:"403" doc:"The status of 3xx, 404 and 410, for proxies that understand no other. Dibs-Status has theirs."`
	URI       string `header:"X-Forwarded-Uri" doc:"Must be there: path and query that the visitor asked for, as they were sent." example:"/w/alice-bob?page=2"`
	Method    string `header:"X-Forwarded-Method" default:"GET" doc:"The visitor's method."`
}

// forwarded is the answer to a proxy.
type forwarded struct {
	Status       int
	DibsStatus   int    `header:"Dibs-Status" doc:"What the visitor is to get."`
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
		return nil, newProblem(http.StatusUnprocessableEntity, "INVALID_REQUEST", "the header X-Forwarded-Uri is missing: the proxy is to send what the visitor asked for")
	}
	name, r := nameIn(prefix, in.URI), nowhere
	if name.Value != "" {
		if r, err = s.reader(ctx).Resolve(ctx, in.Namespace, name.Value); err != nil {
			return nil, s.problemOf(err)
		}
	}
	return s.tellProxy(name, r, in)
}

// nowhere is where something leads that is no name.
var nowhere = dibs.Resolution{Outcome: dibs.ResolveNotFound, Status: http.StatusNotFound}

// tellProxy says what the visitor is to get.
func (s *Server) tellProxy(name visited, r dibs.Resolution, in *forwardedInput) (*forwarded, error) {
	out := &forwarded{
		Status: r.Status, CacheControl: keepForVisitors(s.cfg.MaxStale - r.Age),
		EntityType: headerText(r.Entity.Type), EntityID: headerText(r.Entity.ID), Body: wire.ResolutionOf(r),
	}
	if to := present(r); to != "" && to != name.Value {
		if r.Outcome == dibs.ResolveActive {
			out.Status = http.StatusMovedPermanently // the policy's status is for old names
		}
		out.Status = redirect.Status(out.Status, in.Method)
		if out.Location = name.location(to); out.Location == "" {
			r, out.Status = nowhere, http.StatusNotFound
		}
	}
	out.DibsStatus = out.Status
	switch {
	case out.Status >= http.StatusBadRequest:
		return nil, out.refusal(leadsNowhere(r), in.Refuse)
	case out.Location != "" && in.Refuse != 0:
		return nil, out.refusal(newProblem(out.Status, "MOVED", "this name is another one now: Location says which"), in.Refuse)
	}
	return out, nil
}

// refusal is the answer as a problem, with another status if the proxy wants one.
func (f *forwarded) refusal(p *problem, status int) *problem {
	p.keep, p.header = f.CacheControl, http.Header{"Dibs-Status": {strconv.Itoa(f.DibsStatus)}}
	if f.Location != "" {
		p.header.Set("Location", f.Location)
	}
	if status != 0 {
		p.Status = status
	}
	return p
}

// keepForVisitors is Cache-Control for those whom a proxy hands the answer on to. Without
// must-revalidate a cache that is cut off might use it for longer.
func keepForVisitors(maxStale time.Duration) string {
	if maxStale < time.Second {
		return "no-store"
	}
	return fmt.Sprintf("max-age=%d, must-revalidate", maxStale/time.Second)
}

// visited is the name in what a visitor asked for. Without a Value there is none.
type visited struct {
	redirect.Match
	query string // with its question mark
}

// nameIn finds the name in what a visitor asked for. A path with dots is none: proxies
// clean it up before they choose where to send it, so it would lead elsewhere than it
// seems.
func nameIn(prefix redirect.Prefix, uri string) visited {
	u, err := url.ParseRequestURI(uri)
	if err != nil || u.Scheme != "" || u.Host != "" || redirect.HasDots(u.EscapedPath()) {
		return visited{}
	}
	found, ok := prefix.Find(u.EscapedPath())
	if !ok {
		return visited{}
	}
	v := visited{Match: found}
	if u.RawQuery != "" || u.ForceQuery {
		v.query = "?" + u.RawQuery
	}
	return v
}

// present returns the name by which an entity is to be asked for, if there is one.
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

// location returns the visitor's URL with another name in it, or nothing if it cannot
// stand in one.
func (v visited) location(name string) string {
	path, ok := v.Replace(name)
	if !ok {
		return ""
	}
	return path + v.query
}
