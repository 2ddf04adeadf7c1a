package server

import (
	"cmp"
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

const (
	entityPath      = "/v1/entities/{type}/{id}"
	reservationPath = "/v1/reservations/{reservationId}"
	namePath        = "/v1/names/{namespace}/{value}"

	tagReservations = "Reservations"
	tagNames        = "Names"
	tagEntities     = "Entities"
	tagCommands     = "Commands"
)

// registerCommands adds the calls of commands to the API. The id of a command's call is its op.
func (s *Server) registerCommands() {
	register(s, s.operation(http.MethodPost, "/v1/apply", "apply", "Apply commands, all of them or none\nEach command sees what those before it did. With `dryRun` nothing is done, and the answer says what would be.", tagCommands, 404, 409, 412, 422), s.apply)

	reserve := func(path, op, summary string) huma.Operation {
		return s.operation(http.MethodPost, "/v1/reservations"+path, op, summary, tagReservations, 201, 409, 422)
	}
	register(s, reserve("", "reserve", "Hold a name for a limited time\nThe name is held until `expiresAt`, and no other caller gets it. Confirm the hold with its `token` when the entity is saved; release it when the attempt fails. If the answer is lost, send the call again with the same `token`."), s.reserve)
	register(s, reserve("/batch", "reserveAll", "Hold several names, all of them or none\nEither all names are held, with one token, or the answer lists why each is not."), s.reserveAll)
	register(s, reserve("/first", "reserveFirst", "Hold the first candidate that is available\nCandidates that are taken or not valid are skipped."), s.reserveFirst)
	registerOnReservation(s, "extend", "Give a hold more time\nA hold never becomes shorter, and the policy limits its whole length.", extend)
	registerOnReservation(s, "confirm", "Make a held name an entity's\nThe name becomes the active name of the entity. The call can be repeated: it succeeds again for the same entity.", confirm)
	registerOnReservation(s, "release", "Release a hold\nThe name is free at once.", release)
	registerOnReservation(s, "settle", "End a suspect: a hold that ended, and whose entity may have been saved\nFor operators, when the witness of the namespace cannot decide.", settle)

	register(s, s.operation(http.MethodPost, "/v1/claims", "claim", "Take a free name for an entity at once\nReserve and confirm in one step, for an entity that exists already.", tagNames, 201, 409, 422), s.claim)
	register(s, s.operation(http.MethodPost, "/v1/imports", "import", "Bring names from another system\nEach name is decided by itself, after those before it: the answer has an outcome for each. A name that its entity has already stays as it is, so the call can be repeated.", tagNames, 422), s.importNames)
	register(s, s.operation(http.MethodPost, namePath+"/decommission", "decommission", "Give up one name of an entity\nThe name becomes quarantined or free, as the policy of its namespace says.", tagNames, 404, 422), s.decommission)
	register(s, s.operation(http.MethodPost, namePath+"/transfer", "transfer", "Give one name of an entity to another entity\nThe name is never free in between. The receiver must have no name in the namespace, unless entities may have many there.", tagNames, 404, 409, 422), s.transfer)
	register(s, s.operation(http.MethodPost, "/v1/swap", "swap", "Let two entities exchange names\nBoth names change owners in one step.", tagNames, 409, 422), s.swap)

	register(s, s.operation(http.MethodPut, entityPath+"/names/{namespace}", "rename", "Give an entity another name, or its first\nThe present name becomes an alias, which redirects. With `If-Match` the call is refused if the entity has changed since.", tagEntities, 409, 412, 422), s.rename)
	register(s, s.operation(http.MethodPost, entityPath+"/archive", "archive", "Delete an entity softly: its names stay taken, and none resolves\nNo other entity can take the names. Restore undoes it.", tagEntities, 404, 422), s.archive)
	register(s, s.operation(http.MethodPost, entityPath+"/restore", "restore", "Undo the soft deletion of an entity", tagEntities, 404, 422), s.restore)
	register(s, s.operation(http.MethodDelete, entityPath, "delete", "Delete an entity: give up every name of it\nThe names become quarantined or free, as the policy of each namespace says. It cannot be undone.", tagEntities, 404, 422), s.deleteEntity)
}

// answer is a response with a status of its own.
type answer[T any] struct {
	Status int
	Body   T
}

func ok[T any](body T) *answer[T] { return &answer[T]{http.StatusOK, body} }

// created returns a response with status 201, or 200 for a replay.
func created[T any](body T, replayed bool) *answer[T] {
	if replayed {
		return ok(body)
	}
	return &answer[T]{http.StatusCreated, body}
}

// Idempotent is a request that can be repeated.
type Idempotent struct {
	Header string `header:"Idempotency-Key" doc:"The token of the hold. Better send it as the member token of the body: gateways log headers. Sending both, and different, is refused."`
}

// ChosenToken is the token of a hold as a member of a body.
type ChosenToken struct {
	Token string `json:"token,omitempty" doc:"The token that the caller chooses: 16 to 128 visible ASCII characters, random and secret. The same token again gives the same hold. Without it the server makes one, and a lost answer cannot be asked for again." example:"b3kq7yx2m5vn8r4t"`
}

// token returns the token of the body or of the header.
func (r Idempotent) token(body ChosenToken) (string, error) {
	if r.Header != "" && body.Token != "" && r.Header != body.Token {
		return "", &dibs.Error{Code: dibs.CodeInvalidToken, Field: "token", Message: "the token of the body and the Idempotency-Key are different: send one of them"}
	}
	return cmp.Or(body.Token, r.Header), nil
}

type reserveInput struct {
	Idempotent
	Body struct {
		wire.Reserve
		ChosenToken
	}
}

func (s *Server) reserve(ctx context.Context, in *reserveInput) (_ *answer[wire.Name], err error) {
	command := in.Body.Reserve.Reserve()
	if command.Token, err = in.token(in.Body.ChosenToken); err != nil {
		return nil, err
	}
	return s.hold(ctx, command)
}

func (s *Server) hold(ctx context.Context, command dibs.Command) (*answer[wire.Name], error) {
	result, err := s.run(ctx, command)
	if err != nil {
		return nil, err
	}
	return created(holdsOf(result)[0], result.Replayed), nil
}

// holdsOf returns the names of a reservation, with their token.
func holdsOf(r dibs.Result) []wire.Name {
	names := wire.ResultOf(r).Names
	for i := range names {
		names[i].Token = r.Token
	}
	return names
}

type reserveAllInput struct {
	Idempotent
	Body struct {
		Reservations []wire.Reserve `json:"reservations" nullable:"false" doc:"1 to 32 names, no two the same."`
		ChosenToken
	}
}

type holds struct {
	Reservations []wire.Name `json:"reservations" nullable:"false"`
}

func (s *Server) reserveAll(ctx context.Context, in *reserveAllInput) (*answer[holds], error) {
	token, err := in.token(in.Body.ChosenToken)
	if err != nil {
		return nil, err
	}
	command := dibs.ReserveAll{Token: token}
	for _, r := range in.Body.Reservations {
		command.Reservations = append(command.Reservations, r.Reserve())
	}
	result, err := s.run(ctx, command)
	return created(holds{holdsOf(result)}, result.Replayed), err
}

type reserveFirstInput struct {
	Idempotent
	Body struct {
		wire.ReserveFirst
		ChosenToken
	}
}

func (s *Server) reserveFirst(ctx context.Context, in *reserveFirstInput) (_ *answer[wire.Name], err error) {
	command := in.Body.ReserveFirst.ReserveFirst()
	if command.Token, err = in.token(in.Body.ChosenToken); err != nil {
		return nil, err
	}
	return s.hold(ctx, command)
}

// ByReservation is a reservation in a path.
type ByReservation struct {
	ReservationID string `path:"reservationId" example:"res_c4mkvhn2l6u5tmbbq4zkzswwm4"`
}

func (r ByReservation) reservationID() string { return r.ReservationID }

// registerOnReservation adds the call of a command to the reservation in its path.
func registerOnReservation[I interface{ reservationID() string }](s *Server, op, summary string, command func(dibs.ID, *I) dibs.Command) {
	operation := s.operation(http.MethodPost, reservationPath+"/"+op, op, summary, tagReservations, 404, 409, 422)
	register(s, operation, func(ctx context.Context, in *I) (*answer[wire.Name], error) {
		id, err := dibs.ParseID((*in).reservationID())
		if err != nil {
			return nil, err
		}
		return s.runForName(ctx, command(id, in))
	})
}

type extendInput struct {
	ByReservation
	Body struct {
		Token string `json:"token"`
		TTLMs *int64 `json:"ttlMs,omitempty" doc:"How long the hold lasts from now. Default: the policy's."`
	}
}

func extend(id dibs.ID, in *extendInput) dibs.Command {
	return dibs.Extend{ID: id, Token: in.Body.Token, TTL: wire.TTL(in.Body.TTLMs)}
}

type confirmInput struct {
	ByReservation
	Body struct {
		Token    string      `json:"token"`
		Entity   wire.Entity `json:"entity"`
		Replace  bool        `json:"replace,omitempty" doc:"Make the entity's present name an alias of this one. Like replaces, it also takes the right to rename."`
		Replaces string      `json:"replaces,omitempty" doc:"The name to replace, if an entity may have many."`
	}
}

func confirm(id dibs.ID, in *confirmInput) dibs.Command {
	b := in.Body
	return dibs.Confirm{ID: id, Token: b.Token, Entity: b.Entity.Entity(), Replace: b.Replace, Replaces: b.Replaces}
}

type releaseInput struct {
	ByReservation
	Body struct {
		Token string `json:"token"`
	}
}

func release(id dibs.ID, in *releaseInput) dibs.Command {
	return dibs.Release{ID: id, Token: in.Body.Token}
}

type settleInput struct {
	ByReservation
	Body struct {
		Outcome string       `json:"outcome" enum:"exists,absent"`
		Entity  *wire.Entity `json:"entity,omitempty" doc:"The entity that exists."`
	}
}

func settle(id dibs.ID, in *settleInput) dibs.Command {
	if in.Body.Outcome == "exists" {
		return dibs.Settle{ID: id, Verdict: dibs.Exists(in.Body.Entity.Entity())}
	}
	return dibs.Settle{ID: id, Verdict: dibs.Absent}
}

// ByEntity is an entity in a path.
type ByEntity struct {
	Type  string `path:"type" example:"wedding"`
	ID    string `path:"id" example:"42"`
	Scope string `query:"scope" doc:"The entity's scope. Default: the empty scope." example:"acme"`
}

func (e *ByEntity) entity() dibs.Entity { return dibs.Entity{Type: e.Type, ID: e.ID} }

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

func (s *Server) rename(ctx context.Context, in *renameInput) (*versioned[wire.Name], error) {
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
	return &versioned[wire.Name]{etag(name.Body.Version), name.Body}, nil
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
