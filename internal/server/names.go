package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

const tagNames = "Names"

func (s *Server) registerNames() {
	register(s, s.operation(http.MethodGet, "/v1/names", "listNames", "List names", tagNames, 422), s.listNames)
	register(s, s.operation(http.MethodGet, namePath, "getName", "Show a name", tagNames, 404, 422), s.getName)
	register(s, s.operation(http.MethodPost, "/v1/names/lookup", "lookUpName", "Show a name whose value does not belong in a URL", tagNames, 404, 422), s.lookUp)
	s.registerHistory()
	s.registerCheck()
}

type claimInput struct {
	Body struct {
		Namespace        string            `json:"namespace" example:"slug"`
		Value            string            `json:"value" example:"Alice & Bob"`
		Entity           wire.Entity       `json:"entity"`
		CorrelationID    string            `json:"correlationId,omitempty"`
		Meta             map[string]string `json:"meta,omitempty"`
		Field            string            `json:"field,omitempty"`
		OverrideReserved bool              `json:"overrideReserved,omitempty"`
	}
}

func (s *Server) claim(ctx context.Context, in *claimInput) (*answer[wire.Name], error) {
	b := in.Body
	name, err := s.runForName(ctx, dibs.Claim{
		Namespace: b.Namespace, Value: b.Value, Entity: b.Entity.Entity(), CorrelationID: b.CorrelationID,
		Meta: b.Meta, Field: b.Field, OverrideReserved: b.OverrideReserved,
	})
	if err != nil {
		return nil, err
	}
	return created(name.Body, name.Body.Replayed), nil
}

// ByName is a name in a path. It is exported because the API library fills only exported
// embedded fields. The same holds for the other types that inputs embed.
type ByName struct {
	Namespace string `path:"namespace" example:"slug"`
	Value     string `path:"value" doc:"Percent-encoded. The namespace's profile makes it canonical." example:"alice-bob"`
}

// NameInBody is a name in a body.
type NameInBody struct {
	Namespace string `json:"namespace" example:"email"`
	Value     string `json:"value" example:"alice@example.com"`
}

// mayInURL checks the caller's right in a namespace, and then refuses a value in the URL if the
// namespace is blind: URLs end up in logs. The right comes first, so that a caller does not
// learn which namespaces of others are blind.
func (s *Server) mayInURL(ctx context.Context, verb access.Verb, namespace, instead string) error {
	if err := s.may(ctx, verb, namespace); err != nil {
		return err
	}
	policy, err := s.cfg.Registry.Policy(namespace)
	if err == nil && len(policy.Blind) > 0 {
		return newProblem(http.StatusUnprocessableEntity, "VALUE_IN_URL",
			fmt.Sprintf("%s is blind, so its values do not belong in a URL: use POST %s", namespace, instead))
	}
	return nil
}

func (s *Server) getName(ctx context.Context, in *ByName) (*answer[wire.Name], error) {
	if err := s.mayInURL(ctx, access.Get, in.Namespace, "/v1/names/lookup"); err != nil {
		return nil, err
	}
	return s.showName(ctx, dibs.Lookup{Namespace: in.Namespace, Value: in.Value, Version: true})
}

func (s *Server) lookUp(ctx context.Context, in *struct{ Body NameInBody }) (*answer[wire.Name], error) {
	if err := s.may(ctx, access.Get, in.Body.Namespace); err != nil {
		return nil, err
	}
	return s.showName(ctx, dibs.Lookup{Namespace: in.Body.Namespace, Value: in.Body.Value, Version: true})
}

type listInput struct {
	Namespace string `query:"namespace" doc:"Default: all namespaces."`
	State     string `query:"state" doc:"free, held, suspect, active, alias or quarantined. Default: all except free."`
	Prefix    string `query:"prefix" doc:"A prefix of the canonical form."`
	Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Default: 100."`
	Cursor    string `query:"cursor" doc:"nextCursor of the page before."`
}

func (s *Server) listNames(ctx context.Context, in *listInput) (*answer[wire.NamesPage], error) {
	if err := s.may(ctx, access.List, in.Namespace); err != nil {
		return nil, err
	}
	if p := s.chargePage(infoOf(ctx), in.Limit); p != nil {
		return nil, p
	}
	page, err := s.registry(ctx).List(ctx, dibs.NamesQuery{
		Namespace: in.Namespace, State: dibs.State(in.State), Prefix: in.Prefix, Limit: in.Limit, Cursor: in.Cursor,
	})
	return ok(wire.NamesPage{Names: wire.NamesOf(page.Names), NextCursor: page.Next}), err
}

type decommissionInput struct {
	ByName
	Body struct {
		Entity wire.Entity `json:"entity"`
	}
}

func (s *Server) decommission(ctx context.Context, in *decommissionInput) (*answer[wire.Name], error) {
	if err := s.mayInURL(ctx, access.Decommission, in.Namespace, "/v1/apply"); err != nil {
		return nil, err
	}
	return s.runForName(ctx, dibs.Decommission{Namespace: in.Namespace, Value: in.Value, Entity: in.Body.Entity.Entity()})
}

type transferInput struct {
	ByName
	Body struct {
		From wire.Entity `json:"from"`
		To   wire.Entity `json:"to"`
	}
}

func (s *Server) transfer(ctx context.Context, in *transferInput) (*answer[wire.Name], error) {
	if err := s.mayInURL(ctx, access.Transfer, in.Namespace, "/v1/apply"); err != nil {
		return nil, err
	}
	return s.runForName(ctx, dibs.Transfer{Namespace: in.Namespace, Value: in.Value, From: in.Body.From.Entity(), To: in.Body.To.Entity()})
}

type swapInput struct {
	Body struct {
		Namespace string     `json:"namespace"`
		A         wire.Named `json:"a" doc:"As it is before the swap."`
		B         wire.Named `json:"b" doc:"As it is before the swap."`
	}
}

func (s *Server) swap(ctx context.Context, in *swapInput) (*answer[wire.Result], error) {
	result, err := s.run(ctx, dibs.Swap{Namespace: in.Body.Namespace, A: in.Body.A.Named(), B: in.Body.B.Named()})
	return ok(wire.ResultOf(result)), err
}
