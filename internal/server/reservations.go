package server

import (
	"context"
	"net/http"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

const tagReservations = "Reservations"

// answer is a response with a status of its own.
type answer[T any] struct {
	Status int
	Body   T
}

// ok returns a response with status 200.
func ok[T any](body T) *answer[T] { return &answer[T]{http.StatusOK, body} }

// created returns a response with status 201, or 200 for a replay.
func created[T any](body T, replayed bool) *answer[T] {
	if replayed {
		return ok(body)
	}
	return &answer[T]{http.StatusCreated, body}
}

func (s *Server) registerReservations() {
	register(s, s.operation(http.MethodGet, reservationPath, "getReservation", "Show a reservation", tagReservations, 404), s.getReservation)
}

// Idempotent is a request that can be repeated.
type Idempotent struct {
	Token string `header:"Idempotency-Key" doc:"The token that the caller chooses: 16 to 128 visible ASCII characters, random and secret. The same token again gives the same hold. Without it the server makes one, and a lost answer cannot be asked for again."`
}

type reserveInput struct {
	Idempotent
	Body wire.Reserve
}

func (s *Server) reserve(ctx context.Context, in *reserveInput) (*answer[wire.Name], error) {
	command := in.Body.Reserve()
	command.Token = in.Token
	return s.hold(ctx, command)
}

// hold applies a command that reserves one name.
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
	}
}

type holds struct {
	Reservations []wire.Name `json:"reservations" nullable:"false"`
}

func (s *Server) reserveAll(ctx context.Context, in *reserveAllInput) (*answer[holds], error) {
	command := dibs.ReserveAll{Token: in.Token}
	for _, r := range in.Body.Reservations {
		command.Reservations = append(command.Reservations, r.Reserve())
	}
	result, err := s.run(ctx, command)
	return created(holds{holdsOf(result)}, result.Replayed), err
}

type reserveFirstInput struct {
	Idempotent
	Body wire.ReserveFirst
}

func (s *Server) reserveFirst(ctx context.Context, in *reserveFirstInput) (*answer[wire.Name], error) {
	command := in.Body.ReserveFirst()
	command.Token = in.Token
	return s.hold(ctx, command)
}

// ByReservation is a reservation in a path.
type ByReservation struct {
	ReservationID string `path:"reservationId" example:"res_c4mkvhn2l6u5tmbbq4zkzswwm4"`
}

func (s *Server) getReservation(ctx context.Context, in *ByReservation) (*answer[wire.Name], error) {
	if err := s.maySomewhere(ctx, access.Get); err != nil {
		return nil, err
	}
	id, err := dibs.ParseID(in.ReservationID)
	if err != nil {
		return nil, err
	}
	return s.showName(ctx, dibs.Lookup{ID: id, Version: true, Visible: infoOf(ctx).canGet})
}

func (s *Server) showName(ctx context.Context, lookup dibs.Lookup) (*answer[wire.Name], error) {
	name, err := s.registry(ctx).Get(ctx, lookup)
	return ok(wire.NameOf(name)), err
}

// runOnReservation applies a command to the reservation in the path.
func (s *Server) runOnReservation(ctx context.Context, in ByReservation, command func(dibs.ID) dibs.Command) (*answer[wire.Name], error) {
	id, err := dibs.ParseID(in.ReservationID)
	if err != nil {
		return nil, err
	}
	return s.runForName(ctx, command(id))
}

type extendInput struct {
	ByReservation
	Body struct {
		Token string `json:"token"`
		TTLMs *int64 `json:"ttlMs,omitempty" doc:"How long the hold lasts from now. Default: the policy's."`
	}
}

func (s *Server) extend(ctx context.Context, in *extendInput) (*answer[wire.Name], error) {
	return s.runOnReservation(ctx, in.ByReservation, func(id dibs.ID) dibs.Command {
		return dibs.Extend{ID: id, Token: in.Body.Token, TTL: wire.TTL(in.Body.TTLMs)}
	})
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

func (s *Server) confirm(ctx context.Context, in *confirmInput) (*answer[wire.Name], error) {
	return s.runOnReservation(ctx, in.ByReservation, func(id dibs.ID) dibs.Command {
		b := in.Body
		return dibs.Confirm{ID: id, Token: b.Token, Entity: b.Entity.Entity(), Replace: b.Replace, Replaces: b.Replaces}
	})
}

type releaseInput struct {
	ByReservation
	Body struct {
		Token string `json:"token"`
	}
}

func (s *Server) release(ctx context.Context, in *releaseInput) (*answer[wire.Name], error) {
	return s.runOnReservation(ctx, in.ByReservation, func(id dibs.ID) dibs.Command {
		return dibs.Release{ID: id, Token: in.Body.Token}
	})
}

type settleInput struct {
	ByReservation
	Body struct {
		Outcome string       `json:"outcome" enum:"exists,absent"`
		Entity  *wire.Entity `json:"entity,omitempty" doc:"The entity that exists."`
	}
}

func (s *Server) settle(ctx context.Context, in *settleInput) (*answer[wire.Name], error) {
	return s.runOnReservation(ctx, in.ByReservation, func(id dibs.ID) dibs.Command {
		if in.Body.Outcome == "exists" {
			return dibs.Settle{ID: id, Verdict: dibs.Exists(in.Body.Entity.Entity())}
		}
		return dibs.Settle{ID: id, Verdict: dibs.Absent}
	})
}
