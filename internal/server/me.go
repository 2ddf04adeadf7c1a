package server

import (
	"context"
	"slices"
	"strings"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

// me is the caller of a request.
type me struct {
	Principal  string  `json:"principal,omitempty" doc:"The name in events and holds; absent for an anonymous caller." example:"support"`
	SignedInBy string  `json:"signedInBy" enum:"none,key,token,certificate,session"`
	ExpiresAt  string  `json:"expiresAt,omitempty" format:"date-time" doc:"The end of a session."`
	ReadOnly   bool    `json:"readOnly" doc:"Whether the caller can change nothing."`
	Grants     []grant `json:"grants" nullable:"false" doc:"The rights."`
}

// grant is verbs in namespaces, without groups of verbs.
type grant struct {
	Verbs      []access.Verb `json:"verbs" nullable:"false" doc:"The single verbs." example:"[\"get\",\"list\"]"`
	Namespaces []string      `json:"namespaces" nullable:"false" doc:"* for all, acme.* for a scope and all below it, or one namespace." example:"[\"acme.*\"]"`
}

func (s *Server) me(ctx context.Context, _ *struct{}) (*answer[me], error) {
	return ok(meOf(callerOf(ctx))), nil
}

func meOf(caller access.Caller) me {
	m := me{
		Principal: caller.Name, SignedInBy: "key", ExpiresAt: wire.FormatTime(caller.SessionEnds),
		ReadOnly: true, Grants: []grant{},
	}
	switch {
	case !caller.SessionEnds.IsZero():
		m.SignedInBy = "session"
	case caller.Name == "":
		m.SignedInBy = "none"
	case strings.HasPrefix(caller.Name, "oidc:"):
		m.SignedInBy = "token"
	case strings.HasPrefix(caller.Name, "cert:"):
		m.SignedInBy = "certificate"
	}
	for _, g := range caller.Grants {
		verbs := g.Each()
		m.Grants = append(m.Grants, grant{verbs, slices.Clone(g.Namespaces)})
		m.ReadOnly = m.ReadOnly && !slices.ContainsFunc(verbs, access.Verb.Changes)
	}
	return m
}
