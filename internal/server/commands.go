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

func (s *Server) commands() {
	op := s.operation(http.MethodPost, "/v1/apply", "apply", "Apply commands, all of them or none", "Commands", 404, 409, 412, 422, 429)
	huma.Register(s.api, op, s.apply)
}

type applyInput struct {
	Body struct {
		DryRun   bool           `json:"dryRun,omitempty" doc:"Only say what would be done."`
		Commands []wire.Command `json:"commands" nullable:"false" doc:"1 to 32, each seeing what those before it did."`
	}
}

// maxCommands is how many commands a list may have.
const maxCommands = 32

type applied struct {
	DryRun  bool          `json:"dryRun"`
	Results []wire.Result `json:"results" nullable:"false"`
}

func (s *Server) apply(ctx context.Context, in *applyInput) (*answer[applied], error) {
	if n := len(in.Body.Commands); n > maxCommands { // before each of them is looked up
		return nil, newProblem(http.StatusUnprocessableEntity, string(dibs.CodeTooLarge),
			fmt.Sprintf("%d commands in one list, more than the %d allowed", n, maxCommands))
	}
	commands := make([]dibs.Command, len(in.Body.Commands))
	for i, c := range in.Body.Commands {
		command, err := c.Command()
		if err != nil {
			return nil, s.notACommand(i, err)
		}
		if err := s.mayApply(ctx, command); err != nil {
			return nil, err
		}
		commands[i] = command
	}
	if p := s.mayApplyNow(ctx, commands, in.Body.DryRun); p != nil {
		return nil, p
	}
	registry := s.registry(ctx)
	run := registry.Apply
	if in.Body.DryRun {
		run = registry.DryRun
	}
	results, err := run(ctx, commands...)
	s.triedAll(ctx, commands, err)
	if err != nil {
		return nil, s.problemOf(err)
	}
	body := applied{DryRun: in.Body.DryRun, Results: make([]wire.Result, len(results))}
	for i, r := range results {
		body.Results[i] = wire.ResultOf(r)
	}
	return ok(body), nil
}

// notACommand says which command of a list cannot be read.
func (s *Server) notACommand(i int, err error) *problem {
	p := s.problemOf(err)
	p.Detail = fmt.Sprintf("command %d: %s", i+1, p.Detail)
	p.Errors = []wire.Failure{{Index: &i, Location: fmt.Sprintf("body.commands[%d]", i), Code: p.Code, Detail: p.Detail}}
	return p
}

// mayApply refuses a command that the caller has no right to, as far as its words tell. Where
// it names a reservation the registry decides, which knows where that is.
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
	case dibs.Decommission:
		return s.may(ctx, verb, c.Namespace)
	case dibs.Transfer:
		return s.may(ctx, verb, c.Namespace)
	case dibs.Swap:
		return s.may(ctx, verb, c.Namespace)
	case dibs.Rekey:
		return s.may(ctx, verb, c.Namespace)
	case dibs.Archive:
		return s.mayInScope(ctx, verb, c.Scope)
	case dibs.Restore:
		return s.mayInScope(ctx, verb, c.Scope)
	case dibs.Delete:
		return s.mayInScope(ctx, verb, c.Scope)
	default: // a command that is not known here is not allowed to any caller
		return s.forbidden(access.Verb(verbOf(c)), "here")
	}
}
