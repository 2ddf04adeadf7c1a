package dibsclient

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// preparedCommand is a command in the form in which it is sent, and how the client treats
// commands of its kind.
type preparedCommand struct {
	command dibs.Command
	wire    wire.Command

	newToken   bool // the client generated the token
	minNames   int  // the least number of names in the result
	repeatable bool // sending it again is safe even if the first attempt was applied
	fenced     bool // it has the token of an existing hold
}

// prepare returns a command as it is sent. Its switch is the only place of the client that
// knows the types of commands. A command without a case has one name in its result, and is not
// repeatable.
//
// A command with a token is repeatable, since the token is a fencing token: the registry does
// not change a hold that has ended or belongs to another caller. A repeated Rename would undo
// the next one, and a repeated Delete would also take the names that the entity got after the
// first.
func prepare(command dibs.Command) (preparedCommand, error) {
	p := preparedCommand{command: command, minNames: 1}
	switch c := p.command.(type) {
	case dibs.Reserve:
		p.newToken, p.repeatable = fillToken(&c.Token), true
		p.command = c
	case dibs.ReserveAll:
		p.newToken, p.repeatable, p.minNames = fillToken(&c.Token), true, len(c.Reservations)
		p.command = c
	case dibs.ReserveFirst:
		p.newToken, p.repeatable = fillToken(&c.Token), true
		p.command = c
	case dibs.Extend, dibs.Confirm, dibs.Release:
		p.repeatable, p.fenced = true, true
	case dibs.Rekey, dibs.Import: // a second one finds its work done
		p.repeatable = true
	case dibs.Archive, dibs.Restore, dibs.Delete:
		p.minNames = 0
	case dibs.Swap:
		p.minNames = 2
	}
	var err error
	p.wire, err = wire.CommandOf(p.command)
	return p, err
}

// fillToken sets an empty token to a new one, so that the reservation can be repeated. It
// reports whether it did.
func fillToken(token *string) bool {
	if *token != "" {
		return false
	}
	*token = dibs.NewToken()
	return true
}

// ambiguous reports whether the refusal of repeated commands may be a consequence of
// their own first attempt.
func ambiguous(commands []preparedCommand, refusal *dibs.Error) bool {
	first := reflect.TypeOf(commands[0].command)
	for _, p := range commands[1:] {
		if reflect.TypeOf(p.command) != first {
			return true // the effect of one may make the registry refuse another
		}
	}
	// The registry replays a reservation that was applied and still stands, so refusals
	// of reservations are clear.
	changed := func(f dibs.Failure) bool { return slices.Contains(holdChanged, f.Err.Code) }
	return commands[0].fenced && (slices.Contains(holdChanged, refusal.Code) || slices.ContainsFunc(refusal.Failures, changed))
}

// holdChanged are the codes of refusals that may mean that the hold was extended, confirmed or
// released, and changed again afterwards.
var holdChanged = []dibs.Code{
	dibs.CodeAlreadyConfirmed, dibs.CodeAlreadyReleased, dibs.CodeLost,
	dibs.CodeNotFound,   // the registry forgets a released hold after a while
	dibs.CodeTTLTooLong, // the TTL may have been short enough at the first attempt
}

// allRights are the rights of a Registry from Dial. The server decides by the key which of
// them the caller has.
const allRights = dibs.OverrideReserved | dibs.Operate

// knownByKey refuses a principal of Registry.As, which the server would not learn of.
func knownByKey(p dibs.Principal) error {
	if p.Name != "" || p.Grants != nil || !p.Has(allRights) {
		return fmt.Errorf("%w: the server knows the principal by the key, not by Registry.As; dial with the key of that principal", dibs.ErrUnsupported)
	}
	return nil
}

// Apply sends commands to the server.
func (c *client) Apply(ctx context.Context, request dibs.ApplyRequest) ([]dibs.Result, error) {
	if err := knownByKey(request.Principal); err != nil {
		return nil, err
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
