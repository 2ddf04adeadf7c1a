package rules

import "github.com/calldibs/dibs"

// decision is a prepared command: a pure function that reads records through the view and changes
// them, or refuses. It may run several times, and keeps nothing between two runs.
type decision func(v *view) (dibs.Result, *dibs.Error)

// preparer checks commands of a principal under a set of policies.
type preparer struct {
	policies  *Policies
	principal dibs.Principal

	// wants are the records that the decisions are known to read; likelyAbsent are those of them
	// that are most likely absent. They only save loads: a decision can ask for more.
	wants, likelyAbsent []dibs.Ref
}

// prepare makes all checks that need no record, and returns the decision. It runs on the caller's
// goroutine. Every command has a case here and in [Locations].
func (p *preparer) prepare(command dibs.Command) (decision, *dibs.Error) {
	switch c := command.(type) {
	case nil:
		return nil, refuse(dibs.CodeInvalidValue, "the command is nil")
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
		return p.setArchived(c.Scope, c.Entity, true, dibs.EventArchived)
	case dibs.Restore:
		return p.setArchived(c.Scope, c.Entity, false, dibs.EventRestored)
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
		return nil, refuse(dibs.CodeInvalidValue, "unknown command type %T", command)
	}
}

// want notes records that the decision will read.
func (p *preparer) want(refs ...dibs.Ref) { p.wants = append(p.wants, refs...) }

// expectAbsent is want for a record that is most likely absent.
func (p *preparer) expectAbsent(ref dibs.Ref) {
	p.want(ref)
	p.likelyAbsent = append(p.likelyAbsent, ref)
}

// Locations returns where a command applies. It leaves out namespaces and scopes that are not
// well-formed.
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

// Location says where a command applies: in a scope, or wherever a reservation is stored.
type Location struct {
	Name      string // for messages
	Namespace string // empty if the command names no namespace; so is Kind
	Kind      string
	Scope     string
	ID        dibs.ID // of the reservation; zero if the scope is known
}

// inNamespace returns the location of a namespace, or none if the namespace is not well-formed:
// such a command is refused anyway.
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

// ofReservation returns the location of a reservation, whose scope is not known.
func ofReservation(id dibs.ID) []Location { return []Location{{Name: id.String(), ID: id}} }
