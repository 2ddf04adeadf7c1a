package rules

import (
	"fmt"

	"github.com/calldibs/dibs"
)

// decision is the pure part of a command: it asks the view for records and works out what
// changes, or refuses. It may run several times and keeps nothing between two runs.
type decision func(v *view) (dibs.Result, *dibs.Error)

// prepare checks what can be checked without a record, and returns the decision that is left.
// It runs on the caller's goroutine. Every command has a case here and in [locations].
func (p *preparer) prepare(command dibs.Command) (decision, *dibs.Error) {
	switch c := command.(type) {
	case nil:
		return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: "the command is nil"}
	case dibs.Reserve:
		return p.reserve(c)
	case dibs.ReserveAll:
		return p.reserveAll(c)
	case dibs.ReserveFirst:
		return p.reserveFirst(c)
	case dibs.Extend:
		return p.extend(c)
	case dibs.Confirm:
		return p.confirm(c)
	case dibs.Release:
		return p.release(c)
	case dibs.Claim:
		return p.claim(c)
	case dibs.Rename:
		return p.rename(c)
	case dibs.Archive:
		return p.archive(c)
	case dibs.Restore:
		return p.restore(c)
	case dibs.Delete:
		return p.delete(c)
	case dibs.Decommission:
		return p.decommission(c)
	case dibs.Transfer:
		return p.transfer(c)
	case dibs.Swap:
		return p.swap(c)
	case dibs.Rekey:
		return p.rekey(c)
	case dibs.Settle:
		return p.settle(c)
	default:
		return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("unknown command type %T", command)}
	}
}

// location says where a command applies: in a scope, or wherever a reservation is stored.
type Location struct {
	Name      string // for messages
	Namespace string // empty where the command names none, as its type
	Kind      string
	Scope     string
	ID        dibs.ID // of the reservation; zero where the scope is known
}

// locations returns everything that a command applies to, as far as it is well-formed.
func Locations(command dibs.Command) []Location {
	switch c := command.(type) {
	case dibs.Reserve:
		return inNamespace(c.Namespace)
	case dibs.ReserveAll:
		var all []Location
		for _, r := range c.Reservations {
			all = append(all, inNamespace(r.Namespace)...)
		}
		return all
	case dibs.ReserveFirst:
		return inNamespace(c.Namespace)
	case dibs.Extend:
		return ofReservation(c.ID)
	case dibs.Confirm:
		return ofReservation(c.ID)
	case dibs.Release:
		return ofReservation(c.ID)
	case dibs.Claim:
		return inNamespace(c.Namespace)
	case dibs.Rename:
		return inNamespace(c.Namespace)
	case dibs.Archive:
		return inScope(c.Scope, c.Entity)
	case dibs.Restore:
		return inScope(c.Scope, c.Entity)
	case dibs.Delete:
		return inScope(c.Scope, c.Entity)
	case dibs.Decommission:
		return inNamespace(c.Namespace)
	case dibs.Transfer:
		return inNamespace(c.Namespace)
	case dibs.Swap:
		return inNamespace(c.Namespace)
	case dibs.Rekey:
		return inNamespace(c.Namespace)
	case dibs.Settle:
		return ofReservation(c.ID)
	default:
		return nil
	}
}

// inNamespace returns the location of a namespace, or none if the namespace is not well-formed:
// such a command is refused everywhere.
func inNamespace(namespace string) []Location {
	scope, kind, err := splitNamespace(namespace)
	if err != nil {
		return nil
	}
	return []Location{{Name: namespace, Namespace: namespace, Kind: kind, Scope: scope}}
}

// inScope returns the location of an entity.
func inScope(scope string, entity dibs.Entity) []Location {
	if checkScope(scope) != nil {
		return nil
	}
	name := entity.String()
	if scope != "" {
		name += " of scope " + scope
	}
	return []Location{{Name: name, Scope: scope}}
}

func ofReservation(id dibs.ID) []Location { return []Location{{Name: id.String(), ID: id}} }
