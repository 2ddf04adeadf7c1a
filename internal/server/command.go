package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/rules"
	"github.com/calldibs/dibs/internal/wire"
)

// mayApply refuses a command to a caller without the right, as far as the command itself says
// where it acts. If it names a reservation, the registry decides: only the record has the
// namespace. The registry also refuses a namespace that is not well-formed.
func (s *Server) mayApply(ctx context.Context, command dibs.Command) error {
	verbs, locations := access.VerbsOf(command), rules.Locations(command)
	if len(locations) == 0 {
		return s.maySomewhere(ctx, verbs...)
	}
	for _, at := range locations {
		var err error
		switch {
		case at.Namespace != "":
			err = s.may(ctx, verbs[0], at.Namespace)
		case at.ID.IsZero():
			err = s.mayInScope(ctx, verbs[0], at.Scope)
		default:
			err = s.maySomewhere(ctx, verbs...)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
