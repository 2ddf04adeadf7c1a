package rules

import (
	"fmt"

	"github.com/calldibs/dibs"
)

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
		return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("unknown command type %T", command)}
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
