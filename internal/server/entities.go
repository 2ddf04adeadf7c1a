package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

const tagEntities = "Entities"

func (s *Server) registerEntities() {
	register(s, s.operation(http.MethodGet, entityPath, "getEntity", "Show an entity with its names", tagEntities, 404, 422), s.getEntity)
}

// ByEntity is an entity in a path.
type ByEntity struct {
	Type  string `path:"type" example:"wedding"`
	ID    string `path:"id" example:"42"`
	Scope string `query:"scope" doc:"The entity's scope. Default: the empty scope." example:"acme"`
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
	return &entityAnswer{ETag: etag(info.Version), Body: wire.EntityInfoOf(info)}, err
}

func etag(version uint64) string { return fmt.Sprintf("%q", strconv.FormatUint(version, 10)) }

// versionOf reads an If-Match header. It returns 0 if there is none.
func versionOf(ifMatch string) (uint64, error) {
	text := strings.Trim(strings.TrimPrefix(strings.TrimSpace(ifMatch), "W/"), `"`)
	if text == "" || text == "*" {
		return 0, nil
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil || version == 0 {
		return 0, newProblem(http.StatusPreconditionFailed, string(dibs.CodeVersionMismatch), "If-Match must be the ETag of an entity, which is its version, such as \"3\"")
	}
	return version, nil
}

type deleted struct {
	Freed       []string `json:"freed" nullable:"false" doc:"Keys that are free now."`
	Quarantined []string `json:"quarantined" nullable:"false" doc:"Keys that are in quarantine now."`
	Version     uint64   `json:"version"`
	Pending     bool     `json:"pending" doc:"More names follow in batches. None of them resolves any more."`
	Replayed    bool     `json:"replayed"`
}

func (s *Server) deleteEntity(ctx context.Context, in *ByEntity) (*answer[deleted], error) {
	r, err := s.run(ctx, dibs.Delete{Scope: in.Scope, Entity: in.entity()})
	return ok(deleted{
		Freed: append([]string{}, r.Freed...), Quarantined: append([]string{}, r.Quarantined...),
		Version: r.Version, Pending: r.Pending, Replayed: r.Replayed,
	}), err
}

type entityState struct {
	Entity   wire.Entity `json:"entity"`
	Archived bool        `json:"archived"`
	Version  uint64      `json:"version"`
	Replayed bool        `json:"replayed"`
}

func (s *Server) archive(ctx context.Context, in *ByEntity) (*answer[entityState], error) {
	return s.setArchived(ctx, in, dibs.Archive{Scope: in.Scope, Entity: in.entity()}, true)
}

func (s *Server) restore(ctx context.Context, in *ByEntity) (*answer[entityState], error) {
	return s.setArchived(ctx, in, dibs.Restore{Scope: in.Scope, Entity: in.entity()}, false)
}

func (s *Server) setArchived(ctx context.Context, in *ByEntity, command dibs.Command, archived bool) (*answer[entityState], error) {
	result, err := s.run(ctx, command)
	return ok(entityState{wire.Entity{Type: in.Type, ID: in.ID}, archived, result.Version, result.Replayed}), err
}

type renameInput struct {
	Type      string `path:"type"`
	ID        string `path:"id"`
	Namespace string `path:"namespace"`
	Scope     string `query:"scope" doc:"The entity's scope: the part of the namespace before its type. Optional."`
	IfMatch   string `header:"If-Match" doc:"The entity's ETag: refuse the change if the entity has another version by now."`
	Body      struct {
		Value            string `json:"value"`
		Token            string `json:"token,omitempty" doc:"The token of a hold on the new name."`
		Replaces         string `json:"replaces,omitempty" doc:"The name to replace, if an entity may have many."`
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
			fmt.Sprintf("the entity's scope %q and the namespace's scope %q must be the same", in.Scope, scope))
	}
	version, err := versionOf(in.IfMatch)
	if err != nil {
		return nil, err
	}
	b := in.Body
	name, err := s.runForName(ctx, dibs.Rename{
		Namespace: in.Namespace, Entity: dibs.Entity{Type: in.Type, ID: in.ID}, Value: b.Value, From: b.Replaces, Token: b.Token,
		IfVersion: version, CorrelationID: b.CorrelationID, Field: b.Field, OverrideReserved: b.OverrideReserved,
	})
	if err != nil {
		return nil, err
	}
	return &renamed{etag(name.Body.Version), name.Body}, nil
}
