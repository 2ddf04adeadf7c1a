package server

import (
	"context"
	"fmt"
	"net/http"

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
)

// registerCommands adds the calls of commands to the API. The id of a command's call is its op.
func (s *Server) registerCommands() {
	register(s, s.operation(http.MethodPost, "/v1/apply", "apply", "Apply commands, all of them or none", "Commands", 404, 409, 412, 422), s.apply)

	reserve := func(path, op, summary string) huma.Operation {
		return s.operation(http.MethodPost, "/v1/reservations"+path, op, summary, tagReservations, 201, 409, 422)
	}
	register(s, reserve("", "reserve", "Hold a name for a limited time"), s.reserve)
	register(s, reserve("/batch", "reserveAll", "Hold several names, all of them or none"), s.reserveAll)
	register(s, reserve("/first", "reserveFirst", "Hold the first candidate that is available"), s.reserveFirst)
	registerOnReservation(s, "extend", "Move the end of a hold", extend)
	registerOnReservation(s, "confirm", "Make a held name an entity's", confirm)
	registerOnReservation(s, "release", "Release a hold", release)
	registerOnReservation(s, "settle", "End a suspect", settle)

	register(s, s.operation(http.MethodPost, "/v1/claims", "claim", "Take a free name for an entity at once", tagNames, 201, 409, 422), s.claim)
	register(s, s.operation(http.MethodPost, namePath+"/decommission", "decommission", "Give up one name of an entity", tagNames, 404, 422), s.decommission)
	register(s, s.operation(http.MethodPost, namePath+"/transfer", "transfer", "Give one name of an entity to another", tagNames, 404, 409, 422), s.transfer)
	register(s, s.operation(http.MethodPost, "/v1/swap", "swap", "Let two entities exchange names", tagNames, 409, 422), s.swap)

	register(s, s.operation(http.MethodPut, entityPath+"/names/{namespace}", "rename", "Give an entity another name, or its first", tagEntities, 409, 412, 422), s.rename)
	register(s, s.operation(http.MethodPost, entityPath+"/archive", "archive", "Keep every name of an entity, and resolve none", tagEntities, 404, 422), s.archive)
	register(s, s.operation(http.MethodPost, entityPath+"/restore", "restore", "Undo an archive", tagEntities, 404, 422), s.restore)
	register(s, s.operation(http.MethodDelete, entityPath, "delete", "Give up every name of an entity", tagEntities, 404, 422), s.deleteEntity)
}

// mayApply refuses a command to a caller without the right, as far as the command itself says
// where it acts. If it names a reservation, the registry decides: only the record has the
// namespace. A command without a case is forbidden to every caller.
func (s *Server) mayApply(ctx context.Context, command dibs.Command) error {
	verb := access.VerbOf(command)
	switch c := command.(type) {
	case dibs.Reserve:
		return s.may(ctx, verb, c.Namespace)
	case dibs.ReserveAll:
		for _, r := range c.Reservations {
			if err := s.may(ctx, verb, r.Namespace); err != nil {
				return err
			}
		}
		return nil
	case dibs.ReserveFirst:
		return s.may(ctx, verb, c.Namespace)
	case dibs.Extend, dibs.Confirm, dibs.Release, dibs.Settle:
		return s.maySomewhere(ctx, access.VerbsOf(c)...)
	case dibs.Claim:
		return s.may(ctx, verb, c.Namespace)
	case dibs.Rename:
		return s.may(ctx, verb, c.Namespace)
	case dibs.Archive:
		return s.mayInScope(ctx, verb, c.Scope)
	case dibs.Restore:
		return s.mayInScope(ctx, verb, c.Scope)
	case dibs.Delete:
		return s.mayInScope(ctx, verb, c.Scope)
	case dibs.Decommission:
		return s.may(ctx, verb, c.Namespace)
	case dibs.Transfer:
		return s.may(ctx, verb, c.Namespace)
	case dibs.Swap:
		return s.may(ctx, verb, c.Namespace)
	case dibs.Rekey:
		return s.may(ctx, verb, c.Namespace)
	default:
		return s.forbidden(access.Verb(c.Op()), "here")
	}
}

// namesOf returns how many names a command counts as. The registry refuses a list that is longer
// than the rules allow; it costs no more than the longest one that they do allow.
func namesOf(command dibs.Command) int {
	names := 1
	switch c := command.(type) {
	case dibs.ReserveAll:
		names = len(c.Reservations)
	case dibs.ReserveFirst:
		names = len(c.Values)
	}
	return min(max(1, names), maxCommands)
}

func (s *Server) run(ctx context.Context, c dibs.Command) (dibs.Result, error) {
	if err := s.mayApply(ctx, c); err != nil {
		return dibs.Result{}, err
	}
	results, err := s.runAll(ctx, false, c)
	if err != nil {
		return dibs.Result{}, err
	}
	return results[0], nil
}

// runAll applies commands that the caller has the rights to, within the caller's limits.
func (s *Server) runAll(ctx context.Context, dryRun bool, commands ...dibs.Command) ([]dibs.Result, error) {
	if p := s.chargeCommands(infoOf(ctx), commands, dryRun); p != nil {
		return nil, p
	}
	if dryRun {
		return s.registry(ctx).DryRun(ctx, commands...)
	}
	return s.registry(ctx).Apply(ctx, commands...)
}

// runForName applies a command about one name, and answers with the name.
func (s *Server) runForName(ctx context.Context, c dibs.Command) (*answer[wire.Name], error) {
	result, err := s.run(ctx, c)
	if err != nil {
		return nil, err
	}
	return ok(wire.ResultOf(result).Names[0]), nil
}

type applyInput struct {
	Body struct {
		DryRun   bool           `json:"dryRun,omitempty" doc:"Only say what would be done."`
		Commands []wire.Command `json:"commands" nullable:"false" doc:"1 to 32. Each command sees what those before it did."`
	}
}

// maxCommands is how many commands a list may have.
const maxCommands = 32

type applied struct {
	DryRun  bool          `json:"dryRun"`
	Results []wire.Result `json:"results" nullable:"false"`
}

func (s *Server) apply(ctx context.Context, in *applyInput) (*answer[applied], error) {
	if n := len(in.Body.Commands); n > maxCommands { // before any command is decoded
		return nil, newProblem(http.StatusUnprocessableEntity, string(dibs.CodeTooLarge),
			fmt.Sprintf("%d commands in one list, more than the %d allowed", n, maxCommands))
	}
	commands := make([]dibs.Command, len(in.Body.Commands))
	for i, c := range in.Body.Commands {
		command, err := c.Command()
		if err != nil {
			return nil, s.invalidCommand(i, err)
		}
		if err := s.mayApply(ctx, command); err != nil {
			return nil, err
		}
		commands[i] = command
	}
	results, err := s.runAll(ctx, in.Body.DryRun, commands...)
	return ok(applied{in.Body.DryRun, wire.ListOf(results, wire.ResultOf)}), err
}

func (s *Server) invalidCommand(i int, err error) *problem {
	p := s.problemOf(err)
	p.Detail = fmt.Sprintf("command %d: %s", i+1, p.Detail)
	p.Errors = []wire.Failure{{Index: &i, Location: fmt.Sprintf("body.commands[%d]", i), Code: p.Code, Detail: p.Detail}}
	return p
}
