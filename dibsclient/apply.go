package dibsclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// embedder are the rights of whoever has a Registry from Dial: what they really are is
// up to the key.
const embedder = dibs.OverrideReserved | dibs.Operate

type applyBody struct {
	DryRun   bool           `json:"dryRun,omitempty"`
	Commands []wire.Command `json:"commands"`
}

// Apply sends commands to the server.
func (c *client) Apply(ctx context.Context, request dibs.ApplyRequest) ([]dibs.Result, error) {
	if p := request.Principal; p.Name != "" || p.Grants != nil || !p.Has(embedder) {
		return nil, fmt.Errorf("%w: a server knows the principal by the key, not by Registry.As; dial with the key of that principal", dibs.ErrUnsupported)
	}
	if len(request.Commands) == 0 {
		return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: "there is no command to apply"}
	}
	order, err := newOrder(request.Commands)
	if err != nil {
		return nil, err
	}
	var results []dibs.Result
	err = c.do(ctx, call{
		name: "apply", method: http.MethodPost, path: "/v1/apply",
		body:    applyBody{request.DryRun, order.written},
		changes: !request.DryRun,
		repeats: request.DryRun || repeatable(order.commands),
		doubts:  func(refusal *dibs.Error) bool { return leavesDoubt(order.commands, refusal) },
		read: func(data []byte) (err error) {
			results, err = order.results(data)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// order is a list of commands as it is sent.
type order struct {
	commands []dibs.Command
	written  []wire.Command
	made     []bool // whether the token was made here
}

// newOrder gives every reservation a token before it is sent, so that it can be asked
// for again.
func newOrder(commands []dibs.Command) (*order, error) {
	o := &order{
		commands: make([]dibs.Command, len(commands)),
		written:  make([]wire.Command, len(commands)),
		made:     make([]bool, len(commands)),
	}
	for i, command := range commands {
		if command = pointedTo(command); command == nil {
			return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("command %d of %d is nil", i+1, len(commands))}
		}
		o.commands[i], o.made[i] = withToken(command)
		var err error
		if o.written[i], err = wire.CommandOf(o.commands[i]); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// pointedTo returns the command itself where there is a pointer to it, which is a
// command as well.
func pointedTo(command dibs.Command) dibs.Command {
	v := reflect.ValueOf(command)
	if v.Kind() != reflect.Pointer {
		return command
	}
	if v.IsNil() {
		return nil
	}
	command, _ = reflect.TypeAssert[dibs.Command](v.Elem())
	return command
}

// withToken returns a reservation with a token, and whether it is a new one.
func withToken(command dibs.Command) (dibs.Command, bool) {
	switch c := command.(type) {
	case dibs.Reserve:
		if c.Token == "" {
			c.Token = dibs.NewToken()
			return c, true
		}
	case dibs.ReserveAll:
		if c.Token == "" {
			c.Token = dibs.NewToken()
			return c, true
		}
	case dibs.ReserveFirst:
		if c.Token == "" {
			c.Token = dibs.NewToken()
			return c, true
		}
	}
	return command, false
}

// results reads what became of the commands.
func (o *order) results(data []byte) ([]dibs.Result, error) {
	var answer struct {
		Results []wire.Result `json:"results"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	if len(answer.Results) != len(o.commands) {
		return nil, fmt.Errorf("%d results for %d commands", len(answer.Results), len(o.commands))
	}
	results := make([]dibs.Result, len(answer.Results))
	for i, w := range answer.Results {
		result, err := w.Result()
		if err != nil {
			return nil, err
		}
		if least := namesOf(o.commands[i]); len(result.Names) < least {
			return nil, fmt.Errorf("result %d has %d names, not %d", i+1, len(result.Names), least)
		}
		if o.made[i] {
			// Only this call knows the token: it met its own first attempt.
			result.Replayed = false
		}
		results[i] = result
	}
	return results, nil
}

// namesOf returns how many names the result of a command tells, at least.
func namesOf(command dibs.Command) int {
	switch c := command.(type) {
	case dibs.Archive, dibs.Restore, dibs.Delete:
		return 0
	case dibs.ReserveAll:
		return len(c.Reservations)
	case dibs.Swap:
		return 2
	default:
		return 1
	}
}
