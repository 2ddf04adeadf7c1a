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
	Principal  string       `json:"principal,omitempty" doc:"The name in events and holds; absent for an anonymous caller." example:"support"`
	SignedInBy string       `json:"signedInBy" enum:"none,key,token,certificate,session"`
	ExpiresAt  string       `json:"expiresAt,omitempty" format:"date-time" doc:"The end of a session."`
	ReadOnly   bool         `json:"readOnly" doc:"Whether the caller can change nothing."`
	Grants     []wire.Grant `json:"grants" nullable:"false" doc:"The rights, verb by verb."`
}

func (s *Server) me(ctx context.Context, _ *struct{}) (*answer[me], error) {
	return ok(meOf(callerOf(ctx))), nil
}

func meOf(caller access.Caller) me {
	m := me{
		Principal: caller.Name, SignedInBy: "key", ExpiresAt: wire.FormatTime(caller.SessionEnds),
		ReadOnly: true, Grants: []wire.Grant{},
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
		m.Grants = append(m.Grants, wire.Grant{Verbs: texts(verbs...), Namespaces: slices.Clone(g.Namespaces)})
		m.ReadOnly = m.ReadOnly && !slices.ContainsFunc(verbs, access.Verb.Changes)
	}
	return m
}
