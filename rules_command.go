package dibs

import "fmt"

// decision is the pure part of a command: it asks the view for records and works out what
// changes, or refuses. It may run several times and keeps nothing between two runs.
type decision func(v *view) (Result, *Error)

// prepare checks what can be checked without a record, and returns the decision that is left.
// It runs on the caller's goroutine. Every command has a case here and in [locations].
func (p *preparer) prepare(command Command) (decision, *Error) {
	switch c := command.(type) {
	case nil:
		return nil, &Error{Code: CodeInvalidValue, Message: "the command is nil"}
	case Reserve:
		return p.reserve(c)
	case ReserveAll:
		return p.reserveAll(c)
	case ReserveFirst:
		return p.reserveFirst(c)
	case Extend:
		return p.extend(c)
	case Confirm:
		return p.confirm(c)
	case Release:
		return p.release(c)
	case Claim:
		return p.claim(c)
	case Rename:
		return p.rename(c)
	case Archive:
		return p.archive(c)
	case Restore:
		return p.restore(c)
	case Delete:
		return p.delete(c)
	case Decommission:
		return p.decommission(c)
	case Transfer:
		return p.transfer(c)
	case Swap:
		return p.swap(c)
	case Rekey:
		return p.rekey(c)
	case Settle:
		return p.settle(c)
	default:
		return nil, &Error{Code: CodeInvalidValue, Message: fmt.Sprintf("unknown command type %T", command)}
	}
}

// location says where a command applies: in a scope, or wherever a reservation is stored.
type location struct {
	name      string // for messages
	namespace string // empty where the command names none, as its type
	kind      string
	scope     string
	id        ID // of the reservation; zero where the scope is known
}

// locations returns everything that a command applies to, as far as it is well-formed.
func locations(command Command) []location {
	switch c := command.(type) {
	case Reserve:
		return inNamespace(c.Namespace)
	case ReserveAll:
		var all []location
		for _, r := range c.Reservations {
			all = append(all, inNamespace(r.Namespace)...)
		}
		return all
	case ReserveFirst:
		return inNamespace(c.Namespace)
	case Extend:
		return ofReservation(c.ID)
	case Confirm:
		return ofReservation(c.ID)
	case Release:
		return ofReservation(c.ID)
	case Claim:
		return inNamespace(c.Namespace)
	case Rename:
		return inNamespace(c.Namespace)
	case Archive:
		return inScope(c.Scope, c.Entity)
	case Restore:
		return inScope(c.Scope, c.Entity)
	case Delete:
		return inScope(c.Scope, c.Entity)
	case Decommission:
		return inNamespace(c.Namespace)
	case Transfer:
		return inNamespace(c.Namespace)
	case Swap:
		return inNamespace(c.Namespace)
	case Rekey:
		return inNamespace(c.Namespace)
	case Settle:
		return ofReservation(c.ID)
	default:
		return nil
	}
}

// inNamespace returns the location of a namespace, or none if the namespace is not well-formed:
// such a command is refused everywhere.
func inNamespace(namespace string) []location {
	scope, kind, err := splitNamespace(namespace)
	if err != nil {
		return nil
	}
	return []location{{name: namespace, namespace: namespace, kind: kind, scope: scope}}
}

// inScope returns the location of an entity.
func inScope(scope string, entity Entity) []location {
	if checkScope(scope) != nil {
		return nil
	}
	name := entity.String()
	if scope != "" {
		name += " of scope " + scope
	}
	return []location{{name: name, scope: scope}}
}

func ofReservation(id ID) []location { return []location{{name: id.String(), id: id}} }
