package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/redirect"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *Server) registerResolve() {
	get := s.operation(http.MethodGet, "/v1/resolve/{namespace}/{value}", "resolve", "Resolve a name", tagNames, 404, 410, 422)
	get.Responses = movedResponses(http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect)
	register(s, get, func(ctx context.Context, in *ByName) (*resolved, error) {
		if err := s.mayInURL(ctx, access.Resolve, in.Namespace, "/v1/resolve"); err != nil {
			return nil, err
		}
		return s.resolve(ctx, in.Namespace, in.Value, func(status int) int { return status })
	})
	post := s.operation(http.MethodPost, "/v1/resolve", "lookUpResolve", "The same for a value that does not belong in a URL", tagNames, 404, 410, 422)
	post.Responses = movedResponses(http.StatusTemporaryRedirect, http.StatusPermanentRedirect)
	register(s, post, func(ctx context.Context, in *struct{ Body NameInBody }) (*resolved, error) {
		return s.resolve(ctx, in.Body.Namespace, in.Body.Value, keepMethod)
	})
	follow := s.operation(http.MethodPost, "/v1/resolve/{namespace}/{value}", "followResolve", "The target of redirects from POST /v1/resolve", tagNames, 404, 410, 422)
	follow.Responses = movedResponses(http.StatusTemporaryRedirect, http.StatusPermanentRedirect)
	register(s, follow, func(ctx context.Context, in *ByName) (*resolved, error) {
		if err := s.mayInURL(ctx, access.Resolve, in.Namespace, "/v1/resolve"); err != nil {
			return nil, err
		}
		return s.resolve(ctx, in.Namespace, in.Value, keepMethod)
	})
	s.registerForwarded()
}

func movedResponses(statuses ...int) map[string]*huma.Response {
	responses := make(map[string]*huma.Response)
	for _, status := range statuses {
		responses[fmt.Sprint(status)] = &huma.Response{
			Description: "An old name: Location is the resolve call for the present name.",
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

func (s *Server) resolve(ctx context.Context, namespace, value string, redirect func(int) int) (*resolved, error) {
	if err := s.may(ctx, access.Resolve, namespace); err != nil {
		return nil, err
	}
	r, err := s.reader(ctx).Resolve(ctx, namespace, value)
	if err != nil {
		return nil, err
	}
	keep := fmt.Sprintf("max-age=%d", max(0, s.cfg.MaxStale-r.Age)/time.Second)
	if r.Outcome == dibs.ResolveNotFound || r.Outcome == dibs.ResolveGone {
		p := unresolved(r)
		p.cacheControl = keep
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

// unresolved returns the problem for a name that does not resolve.
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
