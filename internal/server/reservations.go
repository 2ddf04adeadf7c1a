package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/wire"
)

const tagReservations = "Reservations"

// answer is an answer with a status of its own.
type answer[T any] struct {
	Status int
	Body   T
}

// ok is an answer with 200.
func ok[T any](body T) *answer[T] { return &answer[T]{http.StatusOK, body} }

// made is an answer with 201, or 200 where it stood already.
func made[T any](body T, replayed bool) *answer[T] {
	if replayed {
		return ok(body)
	}
	return &answer[T]{http.StatusCreated, body}
}

func (s *Server) reservations() {
	operation := func(method, path, id, summary string, errors ...int) huma.Operation {
		return s.operation(method, "/v1/reservations"+path, id, summary, tagReservations, errors...)
	}
	create := operation(http.MethodPost, "", "reserve", "Hold a name for a limited time", 409, 422, 429)
	create.DefaultStatus = http.StatusCreated
	huma.Register(s.api, create, s.reserve)
	batch := operation(http.MethodPost, "/batch", "reserveAll", "Hold several names, all of them or none", 409, 422, 429)
	batch.DefaultStatus = http.StatusCreated
	huma.Register(s.api, batch, s.reserveAll)
	first := operation(http.MethodPost, "/first", "reserveFirst", "Hold the first candidate that is available", 409, 422, 429)
	first.DefaultStatus = http.StatusCreated
	huma.Register(s.api, first, s.reserveFirst)
	huma.Register(s.api, operation(http.MethodGet, "/{reservationId}", "getReservation", "Show a reservation", 404), s.getReservation)
	huma.Register(s.api, operation(http.MethodPost, "/{reservationId}/extend", "extend", "Move the end of a hold", 404, 409, 422), s.extend)
	huma.Register(s.api, operation(http.MethodPost, "/{reservationId}/confirm", "confirm", "Make a held name an entity's", 404, 409, 422), s.confirm)
	huma.Register(s.api, operation(http.MethodPost, "/{reservationId}/release", "release", "Let a hold go", 404, 409, 422), s.release)
	huma.Register(s.api, operation(http.MethodPost, "/{reservationId}/settle", "settle", "End a suspect", 404, 409, 422), s.settle)
}

// Idempotent is a request that can be repeated.
type Idempotent struct {
	Token string `header:"Idempotency-Key" doc:"The token of the caller's choosing: 16 to 128 visible ASCII characters, random and secret. The same token again gives the same hold. Without it the server makes one, and an answer that gets lost cannot be asked for again."`
}

type reserveInput struct {
	Idempotent
	Body wire.Reserve
}

func (s *Server) reserve(ctx context.Context, in *reserveInput) (*answer[wire.Name], error) {
	if err := s.may(ctx, access.Reserve, in.Body.Namespace); err != nil {
		return nil, err
	}
	command := in.Body.Reserve()
	command.Token = in.Token
	hold, err := s.registry(ctx).Reserve(ctx, command)
	if err != nil {
		return nil, s.problemOf(err)
	}
	s.limits.proven(hold)
	return made(wire.HoldOf(hold), hold.Replayed), nil
}

type reserveAllInput struct {
	Idempotent
	Body struct {
		Reservations []wire.Reserve `json:"reservations" nullable:"false" doc:"1 to 32 names, no two the same."`
	}
}

type holds struct {
	Reservations []wire.Name `json:"reservations" nullable:"false"`
}

func (s *Server) reserveAll(ctx context.Context, in *reserveAllInput) (*answer[holds], error) {
	if p := s.chargeMore(ctx, min(len(in.Body.Reservations), limit.LeastWrites)-1); p != nil {
		return nil, p
	}
	command := dibs.ReserveAll{Token: in.Token}
	for _, r := range in.Body.Reservations {
		if err := s.may(ctx, access.Reserve, r.Namespace); err != nil {
			return nil, err
		}
		command.Reservations = append(command.Reservations, r.Reserve())
	}
	list, err := s.registry(ctx).ReserveAll(ctx, command)
	if err != nil {
		return nil, s.problemOf(err)
	}
	s.limits.proven(list...)
	body := holds{make([]wire.Name, len(list))}
	replayed := true
	for i, h := range list {
		body.Reservations[i] = wire.HoldOf(h)
		replayed = replayed && h.Replayed
	}
	return made(body, replayed), nil
}

type reserveFirstInput struct {
	Idempotent
	Body wire.ReserveFirst
}

func (s *Server) reserveFirst(ctx context.Context, in *reserveFirstInput) (*answer[wire.Name], error) {
	if err := s.may(ctx, access.Reserve, in.Body.Namespace); err != nil {
		return nil, err
	}
	if p := s.chargeMore(ctx, min(len(in.Body.Values), limit.LeastWrites)-1); p != nil {
		return nil, p
	}
	command := in.Body.ReserveFirst()
	command.Token = in.Token
	hold, err := s.registry(ctx).ReserveFirst(ctx, command)
	if err != nil {
		return nil, s.problemOf(err)
	}
	s.limits.proven(hold)
	return made(wire.HoldOf(hold), hold.Replayed), nil
}

// ByReservation is a reservation in a path.
type ByReservation struct {
	ReservationID string `path:"reservationId" example:"res_c4mkvhn2l6u5tmbbq4zkzswwm4"`
}

// permitted returns the id, if it is one and the caller may do this somewhere.
func (s *Server) permitted(ctx context.Context, in ByReservation, verbs ...access.Verb) (id dibs.ID, err error) {
	if err = s.maySomewhere(ctx, verbs...); err != nil {
		return id, err
	}
	if id, err = dibs.ParseID(in.ReservationID); err != nil {
		return id, s.problemOf(err)
	}
	return id, nil
}

func (s *Server) getReservation(ctx context.Context, in *ByReservation) (*answer[wire.Name], error) {
	id, err := s.permitted(ctx, *in, access.Get)
	if err != nil {
		return nil, err
	}
	return s.showName(ctx, dibs.Lookup{ID: id, Version: true, Visible: visitOf(ctx).canGet})
}

func (s *Server) showName(ctx context.Context, lookup dibs.Lookup) (*answer[wire.Name], error) {
	name, err := s.registry(ctx).Get(ctx, lookup)
	if err != nil {
		return nil, s.problemOf(err)
	}
	return ok(wire.NameOf(name)), nil
}

// one applies a command about one name.
func (s *Server) one(ctx context.Context, command dibs.Command) (*answer[wire.Name], error) {
	results, err := s.registry(ctx).Apply(ctx, command)
	if err != nil {
		return nil, s.problemOf(err)
	}
	return ok(wire.ResultOf(results[0]).Names[0]), nil
}

type extendInput struct {
	ByReservation
	Body struct {
		Token string `json:"token"`
		TTLMs *int64 `json:"ttlMs,omitempty" doc:"How long the hold lasts from now; the policy's default where it is left out."`
	}
}

func (s *Server) extend(ctx context.Context, in *extendInput) (*answer[wire.Name], error) {
	id, err := s.permitted(ctx, in.ByReservation, access.Extend)
	if err != nil {
		return nil, err
	}
	return s.byToken(ctx, dibs.Extend{ID: id, Token: in.Body.Token, TTL: wire.TTL(in.Body.TTLMs)})
}

type confirmInput struct {
	ByReservation
	Body struct {
		Token    string      `json:"token"`
		Entity   wire.Entity `json:"entity"`
		Replace  bool        `json:"replace,omitempty" doc:"Make the entity's present name an alias of this one. That takes the right to rename, too; so does replaces."`
		Replaces string      `json:"replaces,omitempty" doc:"Which name is replaced, where an entity may have many."`
	}
}

func (s *Server) confirm(ctx context.Context, in *confirmInput) (*answer[wire.Name], error) {
	b := in.Body
	command := dibs.Confirm{Token: b.Token, Entity: b.Entity.Entity(), Replace: b.Replace, Replaces: b.Replaces}
	var err error
	if command.ID, err = s.permitted(ctx, in.ByReservation, access.VerbsOf(command)...); err != nil {
		return nil, err
	}
	return s.byToken(ctx, command)
}

type releaseInput struct {
	ByReservation
	Body struct {
		Token string `json:"token"`
	}
}

func (s *Server) release(ctx context.Context, in *releaseInput) (*answer[wire.Name], error) {
	id, err := s.permitted(ctx, in.ByReservation, access.Release)
	if err != nil {
		return nil, err
	}
	return s.byToken(ctx, dibs.Release{ID: id, Token: in.Body.Token})
}

type settleInput struct {
	ByReservation
	Body struct {
		Outcome string       `json:"outcome" enum:"exists,absent"`
		Entity  *wire.Entity `json:"entity,omitempty" doc:"Which entity exists."`
	}
}

func (s *Server) settle(ctx context.Context, in *settleInput) (*answer[wire.Name], error) {
	id, err := s.permitted(ctx, in.ByReservation, access.Settle)
	if err != nil {
		return nil, err
	}
	verdict := dibs.Absent
	if in.Body.Outcome == "exists" {
		verdict = dibs.Exists(in.Body.Entity.Entity())
	}
	return s.one(ctx, dibs.Settle{ID: id, Verdict: verdict})
}
