package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

const tagEntities = "Entities"

func (s *Server) entities() {
	operation := func(method, path, id, summary string, errors ...int) huma.Operation {
		return s.operation(method, "/v1/entities/{type}/{id}"+path, id, summary, tagEntities, errors...)
	}
	huma.Register(s.api, operation(http.MethodGet, "", "getEntity", "Show an entity with its names", 404, 422), s.getEntity)
	huma.Register(s.api, operation(http.MethodDelete, "", "delete", "Give up every name of an entity", 404, 422), s.deleteEntity)
	huma.Register(s.api, operation(http.MethodPost, "/archive", "archive", "Keep every name of an entity, and resolve none", 404, 422),
		func(ctx context.Context, in *ByEntity) (*answer[entityState], error) {
			return s.changeEntity(ctx, access.Archive, in, dibs.Archive{Scope: in.Scope, Entity: in.entity()}, true)
		})
	huma.Register(s.api, operation(http.MethodPost, "/restore", "restore", "Undo an archive", 404, 422),
		func(ctx context.Context, in *ByEntity) (*answer[entityState], error) {
			return s.changeEntity(ctx, access.Restore, in, dibs.Restore{Scope: in.Scope, Entity: in.entity()}, false)
		})
	huma.Register(s.api, operation(http.MethodPut, "/names/{namespace}", "rename", "Give an entity another name, or its first", 409, 412, 422), s.rename)
}

// ByEntity is an entity in a path.
type ByEntity struct {
	Type  string `path:"type" example:"wedding"`
	ID    string `path:"id" example:"42"`
	Scope string `query:"scope" doc:"The entity's scope; none for namespaces without one." example:"acme"`
}

func (e *ByEntity) entity() dibs.Entity { return dibs.Entity{Type: e.Type, ID: e.ID} }

type entityAnswer struct {
	ETag string `header:"ETag" doc:"The entity's version."`
	Body wire.EntityInfo
}

func (s *Server) getEntity(ctx context.Context, in *ByEntity) (*entityAnswer, error) {
	if err := s.mayInScope(ctx, access.Get, in.Scope); err != nil {
		return nil, err
	}
	info, err := s.registry(ctx).Entity(ctx, in.Scope, in.entity())
	if err != nil {
		return nil, s.problemOf(err)
	}
	return &entityAnswer{ETag: etag(info.Version), Body: wire.EntityInfoOf(info)}, nil
}

func etag(version uint64) string { return fmt.Sprintf("%q", strconv.FormatUint(version, 10)) }

// versionOf reads an If-Match header; 0 where there is none.
func versionOf(ifMatch string) (uint64, error) {
	text := strings.Trim(strings.TrimPrefix(strings.TrimSpace(ifMatch), "W/"), `"`)
	if text == "" || text == "*" {
		return 0, nil
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil || version == 0 {
		return 0, newProblem(http.StatusPreconditionFailed, string(dibs.CodeVersionMismatch), "If-Match is no ETag of an entity: that is its version, such as \"3\"")
	}
	return version, nil
}

type given struct {
	Freed       []string `json:"freed" nullable:"false" doc:"Keys that are free now."`
	Quarantined []string `json:"quarantined" nullable:"false" doc:"Keys that are kept back for a while."`
	Version     uint64   `json:"version"`
	Pending     bool     `json:"pending" doc:"There are more names, which follow in batches. None of them resolves any more."`
	Replayed    bool     `json:"replayed"`
}

func (s *Server) deleteEntity(ctx context.Context, in *ByEntity) (*answer[given], error) {
	if err := s.mayInScope(ctx, access.Delete, in.Scope); err != nil {
		return nil, err
	}
	r, err := s.registry(ctx).Delete(ctx, dibs.Delete{Scope: in.Scope, Entity: in.entity()})
	if err != nil {
		return nil, s.problemOf(err)
	}
	return ok(given{
		Freed: append([]string{}, r.Freed...), Quarantined: append([]string{}, r.Quarantined...),
		Version: r.Version, Pending: r.Pending, Replayed: r.Replayed,
	}), nil
}

type entityState struct {
	Entity   wire.Entity `json:"entity"`
	Archived bool        `json:"archived"`
	Version  uint64      `json:"version"`
	Replayed bool        `json:"replayed"`
}

func (s *Server) changeEntity(ctx context.Context, verb access.Verb, in *ByEntity, command dibs.Command, archived bool) (*answer[entityState], error) {
	if err := s.mayInScope(ctx, verb, in.Scope); err != nil {
		return nil, err
	}
	results, err := s.registry(ctx).Apply(ctx, command)
	if err != nil {
		return nil, s.problemOf(err)
	}
	return ok(entityState{wire.Entity{Type: in.Type, ID: in.ID}, archived, results[0].Version, results[0].Replayed}), nil
}

type renameInput struct {
	Type      string `path:"type"`
	ID        string `path:"id"`
	Namespace string `path:"namespace"`
	Scope     string `query:"scope" doc:"The entity's scope: what the namespace has before its type. It may be left out."`
	IfMatch   string `header:"If-Match" doc:"The ETag of the entity, to change it only as it was seen."`
	Body      struct {
		Value            string `json:"value"`
		Token            string `json:"token,omitempty" doc:"Of a hold on the new name."`
		Replaces         string `json:"replaces,omitempty" doc:"Which name is replaced, where an entity may have many."`
		CorrelationID    string `json:"correlationId,omitempty"`
		Field            string `json:"field,omitempty"`
		OverrideReserved bool   `json:"overrideReserved,omitempty"`
	}
}

type renamed struct {
	ETag string `header:"ETag"`
	Body wire.Name
}

func (s *Server) rename(ctx context.Context, in *renameInput) (*renamed, error) {
	if err := s.may(ctx, access.Rename, in.Namespace); err != nil {
		return nil, err
	}
	if scope := dibs.ScopeOf(in.Namespace); in.Scope != "" && in.Scope != scope {
		return nil, newProblem(http.StatusUnprocessableEntity, string(dibs.CodeInvalidNamespace),
			fmt.Sprintf("the entity's scope is %q and the namespace's %q: they must be the same", in.Scope, scope))
	}
	version, err := versionOf(in.IfMatch)
	if err != nil {
		return nil, err
	}
	b := in.Body
	name, err := s.byToken(ctx, dibs.Rename{
		Namespace: in.Namespace, Entity: dibs.Entity{Type: in.Type, ID: in.ID}, Value: b.Value, From: b.Replaces, Token: b.Token,
		IfVersion: version, CorrelationID: b.CorrelationID, Field: b.Field, OverrideReserved: b.OverrideReserved,
	})
	if err != nil {
		return nil, err
	}
	return &renamed{etag(name.Body.Version), name.Body}, nil
}
