package server

import (
	"context"
	"errors"
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
	var namespaces []string
	for i, c := range in.Body.Commands {
		command, err := c.Command()
		if err != nil {
			return nil, s.notACommand(i, err)
		}
		of, err := s.mayApply(ctx, command, namespaces)
		if err != nil {
			return nil, err
		}
		commands[i], namespaces = command, append(namespaces, of...)
	}
	if p := s.mayApplyNow(ctx, commands, in.Body.DryRun); p != nil {
		return nil, p
	}
	registry := s.registry(ctx, namespaces...)
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

// mayApply refuses a command that the caller has no right to, and returns the
// namespaces that the right is for. Before are those of the commands before it.
func (s *Server) mayApply(ctx context.Context, command dibs.Command, before []string) (namespaces []string, err error) {
	in := func(verb access.Verb, namespaces ...string) ([]string, error) {
		for _, namespace := range namespaces {
			if err := s.may(ctx, verb, namespace); err != nil {
				return nil, err
			}
		}
		return namespaces, nil
	}
	byID := func(verb access.Verb, id dibs.ID) ([]string, error) {
		namespace, err := s.mayByID(ctx, verb, id)
		if p, ok := errors.AsType[*problem](err); ok && p.Status == http.StatusNotFound && len(before) > 0 {
			// A command before it may be about to make it.
			return in(verb, before...)
		}
		return []string{namespace}, err
	}
	switch c := command.(type) {
	case dibs.Reserve:
		return in(access.Reserve, c.Namespace)
	case dibs.ReserveAll:
		for _, r := range c.Reservations {
			namespaces = append(namespaces, r.Namespace)
		}
		return in(access.Reserve, namespaces...)
	case dibs.ReserveFirst:
		return in(access.Reserve, c.Namespace)
	case dibs.Extend:
		return byID(access.Extend, c.ID)
	case dibs.Confirm:
		return byID(access.Confirm, c.ID)
	case dibs.Release:
		return byID(access.Release, c.ID)
	case dibs.Settle:
		return byID(access.Settle, c.ID)
	case dibs.Claim:
		return in(access.Claim, c.Namespace)
	case dibs.Rename:
		return in(access.Rename, c.Namespace)
	case dibs.Decommission:
		return in(access.Decommission, c.Namespace)
	case dibs.Transfer:
		return in(access.Transfer, c.Namespace)
	case dibs.Swap:
		return in(access.Swap, c.Namespace)
	case dibs.Rekey:
		return in(access.Rekey, c.Namespace)
	case dibs.Archive:
		return nil, s.mayInScope(ctx, access.Archive, c.Scope)
	case dibs.Restore:
		return nil, s.mayInScope(ctx, access.Restore, c.Scope)
	case dibs.Delete:
		return nil, s.mayInScope(ctx, access.Delete, c.Scope)
	case dibs.Sweep:
		return in(access.Sweep, everywhere)
	default: // a command that nobody thought of is nobody's right
		return nil, s.forbidden(access.Verb(verbOf(c)), "here")
	}
}
