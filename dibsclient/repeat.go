package dibsclient

import (
	"reflect"
	"slices"

	"github.com/calldibs/dibs"
)

// repeatable reports whether commands can be sent again after they may have been done.
// A token fences off what others did in between: a hold that is over or somebody else's
// is not touched again. Nothing fences the other commands: a Rename that is sent again
// undoes the next one, and a Delete also takes the names that came after it.
func repeatable(commands []dibs.Command) bool {
	for _, command := range commands {
		switch command.(type) {
		case dibs.Reserve, dibs.ReserveAll, dibs.ReserveFirst: // newOrder gave them a token
		case dibs.Extend, dibs.Confirm, dibs.Release:
		case dibs.Rekey: // what they did is found done
		default:
			return false
		}
	}
	return true
}

// leavesDoubt reports whether commands that were sent again may have been refused
// although, or because, they were done the first time.
func leavesDoubt(commands []dibs.Command, refusal *dibs.Error) bool {
	first := reflect.TypeOf(commands[0])
	for _, command := range commands[1:] {
		if reflect.TypeOf(command) != first {
			// What one of them did may be in the way of another.
			return true
		}
	}
	switch commands[0].(type) {
	case dibs.Extend, dibs.Confirm, dibs.Release:
		return endsHold(refusal) || slices.ContainsFunc(refusal.Failures, func(f dibs.Failure) bool { return endsHold(f.Err) })
	default:
		// A reservation that was made, and still stands, would have been replayed.
		return false
	}
}

// endsHold reports whether a refusal may mean that a hold was extended, confirmed or
// released, and that something else has happened since.
func endsHold(refusal *dibs.Error) bool {
	switch refusal.Code {
	case dibs.CodeAlreadyConfirmed, dibs.CodeAlreadyReleased, dibs.CodeLost:
		return true
	case dibs.CodeNotFound: // a hold that was released is forgotten after a while
		return true
	case dibs.CodeTTLTooLong: // what was not too long then may be by now
		return true
	default:
		return false
	}
}
