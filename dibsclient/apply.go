package dibsclient

import (
	"context"
	"fmt"
	"net/http"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// allRights are the rights of a Registry from Dial. The server decides by the key which of
// them the caller has.
const allRights = dibs.OverrideReserved | dibs.Operate

// Apply sends commands to the server.
func (c *client) Apply(ctx context.Context, request dibs.ApplyRequest) ([]dibs.Result, error) {
	if p := request.Principal; p.Name != "" || p.Grants != nil || !p.Has(allRights) {
		return nil, fmt.Errorf("%w: the server knows the principal by the key, not by Registry.As; dial with the key of that principal", dibs.ErrUnsupported)
	}
	if len(request.Commands) == 0 {
		return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: "there is no command to apply"}
	}
	body := struct {
		DryRun   bool           `json:"dryRun,omitempty"`
		Commands []wire.Command `json:"commands"`
	}{DryRun: request.DryRun}
	type results struct {
		Results []wire.Result `json:"results"`
	}
	commands, repeatable := make([]preparedCommand, len(request.Commands)), true
	for i, command := range request.Commands {
		if command == nil {
			return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("command %d of %d is nil", i+1, len(commands))}
		}
		p, err := prepare(command)
		if err != nil {
			return nil, err
		}
		commands[i], repeatable = p, repeatable && p.repeatable
		body.Commands = append(body.Commands, p.wire)
	}
	return fetch(ctx, c, call{
		name: "apply", method: http.MethodPost, path: "/v1/apply", body: body,
		changes: !request.DryRun, repeatable: request.DryRun || repeatable,
		ambiguous: func(refusal *dibs.Error) bool { return ambiguous(commands, refusal) },
	}, func(w results) ([]dibs.Result, error) { return resultsOf(commands, w.Results) })
}

// resultsOf converts the results of commands.
func resultsOf(commands []preparedCommand, results []wire.Result) ([]dibs.Result, error) {
	if len(results) != len(commands) {
		return nil, fmt.Errorf("%d results for %d commands", len(results), len(commands))
	}
	list := make([]dibs.Result, len(results))
	for i, w := range results {
		result, err := w.Result()
		if err != nil {
			return nil, err
		}
		if least := commands[i].minNames; len(result.Names) < least {
			return nil, fmt.Errorf("result %d has %d names, want at least %d", i+1, len(result.Names), least)
		}
		if commands[i].newToken {
			// No other caller knows the token: the registry replayed this call's own
			// first attempt.
			result.Replayed = false
		}
		list[i] = result
	}
	return list, nil
}
