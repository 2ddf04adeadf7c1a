package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *Server) registerApply() {
	op := s.operation(http.MethodPost, "/v1/apply", "apply", "Apply commands, all of them or none", "Commands", 404, 409, 412, 422)
	register(s, op, s.apply)
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

// invalidCommand says which command of a list is not valid.
func (s *Server) invalidCommand(i int, err error) *problem {
	p := s.problemOf(err)
	p.Detail = fmt.Sprintf("command %d: %s", i+1, p.Detail)
	p.Errors = []wire.Failure{{Index: &i, Location: fmt.Sprintf("body.commands[%d]", i), Code: p.Code, Detail: p.Detail}}
	return p
}
