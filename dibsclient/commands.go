package dibsclient

import (
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
	case dibs.Rekey: // a second one finds its work done
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
	return commands[0].fenced &&
		(meansHoldChanged(refusal) || slices.ContainsFunc(refusal.Failures, func(f dibs.Failure) bool { return meansHoldChanged(f.Err) }))
}

// meansHoldChanged reports whether a refusal may mean that the hold was extended, confirmed
// or released, and changed again afterwards.
func meansHoldChanged(refusal *dibs.Error) bool {
	switch refusal.Code {
	case dibs.CodeAlreadyConfirmed, dibs.CodeAlreadyReleased, dibs.CodeLost,
		dibs.CodeNotFound,   // the registry forgets a released hold after a while
		dibs.CodeTTLTooLong: // the TTL may have been short enough at the first attempt
		return true
	default:
		return false
	}
}
