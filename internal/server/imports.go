package server

import (
	"context"
	"fmt"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

type importInput struct {
	Body struct {
		DryRun bool          `json:"dryRun,omitempty" doc:"Only say what would be done, for each name as if the others were not there."`
		Names  []wire.Import `json:"names" nullable:"false" maxItems:"1000" doc:"1 to 1,000. Each is decided by itself, after those before it."`
	}
}

type importAnswer struct {
	DryRun  bool            `json:"dryRun"`
	Results []wire.Imported `json:"results" nullable:"false" doc:"One for each name, in order."`
}

// importNames enters many names. It takes the right import in each of their namespaces.
func (s *Server) importNames(ctx context.Context, in *importInput) (*answer[importAnswer], error) {
	request := dibs.ImportRequest{DryRun: in.Body.DryRun, Imports: make([]dibs.Import, len(in.Body.Names))}
	commands := make([]dibs.Command, len(in.Body.Names))
	for i, name := range in.Body.Names {
		command, err := name.Import()
		if err == nil {
			err = s.mayApply(ctx, command)
		}
		if err != nil {
			p := s.problemOf(err)
			p.Detail = fmt.Sprintf("name %d: %s", i+1, p.Detail)
			return nil, p
		}
		request.Imports[i], commands[i] = command, command
	}
	if p := s.chargeCommands(infoOf(ctx), commands, in.Body.DryRun); p != nil {
		return nil, p
	}
	results, err := s.registry(ctx).ImportAll(ctx, request)
	return ok(importAnswer{in.Body.DryRun, wire.ListOf(results, wire.ImportedOf)}), err
}
