package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

// MaxCommands is how many commands one Apply may have.
const MaxCommands = 32

const maxPrincipal = 255

// Request is a list of decisions that are committed together or not at all. It is decided on a
// batch state, with other requests, and possibly several times.
type Request struct {
	decisions []decision
	actor     string
	dryRun    bool

	wants []wanted // what the decisions are known to read; they may ask for more

	// The outcome of the last decision.
	view    view
	results []dibs.Result
	err     *dibs.Error

	room room
}

// wanted is a record that a decision is known to read.
type wanted struct {
	dibs.Ref
	likelyAbsent bool
}

// room is where the lists of a small request begin, so that they need no allocations of their own.
type room struct {
	decisions [1]decision
	wants     [3]wanted
	results   [1]dibs.Result
	reads     [3]dibs.Ref
	changes   [2]change
}

// Apply checks commands and returns the request that decides them. The error names every command
// that is not well-formed.
func (set *Policies) Apply(req dibs.ApplyRequest) (*Request, *dibs.Error) {
	if problem := textProblem(req.Principal.Name, 0, maxPrincipal); problem != "" {
		return nil, refuse(dibs.CodeInvalidValue, "the principal's name %s", problem)
	}
	if len(req.Commands) == 0 {
		return nil, refuse(dibs.CodeInvalidValue, "there is no command to apply")
	}
	if err := checkAtMost(len(req.Commands), MaxCommands, "commands in one Apply"); err != nil {
		return nil, err
	}
	one := new(struct { // allocation
		preparer
		Request
	})
	p, r := &one.preparer, &one.Request
	p.policies, p.principal, p.wants = set, req.Principal, r.room.wants[:0]
	r.decisions, r.actor, r.dryRun = r.room.decisions[:0], req.Principal.Name, req.DryRun
	var failed failures
	for i, command := range req.Commands {
		r.decisions = append(r.decisions, p.prepare(command))
		failed.add(i, p.takeRefusal())
	}
	if len(failed) > 0 && len(req.Commands) == 1 {
		return nil, failed[0].Err
	}
	r.wants = p.wants
	return r, Several(failed, len(req.Commands))
}

// Decide runs the request's decisions on the batch state. A refused request changes nothing.
func (r *Request) Decide(b *Batch) {
	v := &r.view
	*v = view{batch: b, now: b.now, actor: r.actor, reads: r.room.reads[:0], changes: r.room.changes[:0]}
	r.results = r.room.results[:0]
	if len(r.decisions) == 1 {
		result, err := r.decisions[0](v)
		r.results, r.err = append(r.results, result), err
		r.showEvents(0)
	} else {
		// Each sees what the decisions before it changed. After a refusal the rest runs too, so that
		// the error names every command that fails.
		var failed failures
		for i, decide := range r.decisions {
			before := len(v.events)
			result, err := v.try(decide)
			r.results = append(r.results, result)
			r.showEvents(before)
			failed.add(i, err)
		}
		r.err = Several(failed, len(r.decisions))
	}
	if v.fault != nil {
		r.err = v.fault
	}
	if r.err != nil || r.dryRun {
		v.changes, v.events, v.renewed, v.redacts = nil, nil, nil, nil
	}
	for _, c := range v.changes { // the requests after this one see them
		b.change(c)
	}
	for _, ref := range v.renewed {
		b.entry(KeyOf(ref)).renewed = true
	}
}

// showEvents adds the events of the last decision to its result, in a dry run.
func (r *Request) showEvents(before int) {
	if r.dryRun && before < len(r.view.events) {
		r.results[len(r.results)-1].Events = slices.Clone(r.view.events[before:])
	}
}

// Length returns how many decisions the request has.
func (r *Request) Length() int { return len(r.decisions) }

// Size returns how many records the request is known to read.
func (r *Request) Size() int { return len(r.wants) }

// First returns the first record that the request is known to read.
func (r *Request) First() dibs.Ref { return r.wants[0].Ref }

// AlsoLoad adds a record that the request most likely asks for. It changes no outcome.
func (r *Request) AlsoLoad(ref dibs.Ref) { r.wants = append(r.wants, wanted{Ref: ref}) }

// IsRivalOf reports whether two requests want the same new name and read the same records, as far as
// is known: at most one of them gets the name.
func (r *Request) IsRivalOf(other *Request) bool {
	return len(r.wants) > 0 && r.wants[0].likelyAbsent && slices.Equal(r.wants, other.wants)
}

// RestsOnLoadAlone reports whether the last decision changes nothing, and its answer is right at the
// moment of the load.
func (r *Request) RestsOnLoadAlone() bool { return !r.Changes() && !r.view.dependent }

// Result returns the outcome of the last decision.
func (r *Request) Result() ([]dibs.Result, *dibs.Error) { return r.results, r.err }

// DecidedAt returns the engine's time of the last decision, zero before the first.
func (r *Request) DecidedAt() dibs.Instant { return r.view.now }

// Changes reports whether the last decision changes anything. Then its answer is right once its
// group is committed. A decision that changes nothing is right after a commit only if it rests on
// the load alone: otherwise it rests on changes of other requests, which are true from the commit
// on, and on records that were true at the load. Commit does not check that both were true at one
// moment, because it does not check absent records that the group does not write. Such a request
// has to be decided again.
func (r *Request) Changes() bool { return len(r.view.changes) > 0 }

// PastEnds returns the ends that the last decision rests on and that no commit has written.
func (r *Request) PastEnds() []PastEnd { return r.view.pastEnds }

// failures collects the errors of a command with many parts.
type failures []dibs.Failure

// add notes the error of a part; nil is none.
func (f *failures) add(part int, err *dibs.Error) {
	if err != nil {
		*f = append(*f, dibs.Failure{Index: part, Err: err})
	}
}

// Several returns one error for the failures of a command with many parts; nil if there are none.
func Several(failures []dibs.Failure, total int) *dibs.Error {
	if len(failures) == 0 {
		return nil
	}
	first := *failures[0].Err
	first.Message = fmt.Sprintf("%d of %d refused, none was done; number %d: %s",
		len(failures), total, failures[0].Index+1, first.Message)
	first.Failures = failures
	return &first
}

// Job is a request that is not an Apply: a question of a caller, or housekeeping. Its outcome has
// a type of its own.
type Job[T any] struct {
	*Request
	outcome T
}

// preparer returns a preparer for a job that reads these records.
func (set *Policies) preparer(refs ...dibs.Ref) *preparer {
	p := &preparer{policies: set}
	p.want(refs...)
	return p
}

// newJob returns a job that decides what to change.
func newJob[T any](p *preparer, decide func(v *view) (T, *dibs.Error)) *Job[T] {
	one := new(struct { // allocation
		Job[T]
		Request
	})
	j := &one.Job
	j.Request = &one.Request
	j.wants = p.wants
	j.decisions = append(j.room.decisions[:0], func(v *view) (_ dibs.Result, err *dibs.Error) {
		j.outcome, err = decide(v)
		return dibs.Result{}, err
	})
	return j
}

// newQuestion returns a job that changes nothing. Each run must return a new answer.
func newQuestion[T any](p *preparer, answer func(v *view) (T, *dibs.Error)) *Job[T] {
	j := newJob(p, answer)
	j.dryRun = true
	return j
}

// Result returns the outcome of the last decision.
func (j *Job[T]) Result() (T, *dibs.Error) { return j.outcome, j.err }

// decision is a prepared command: a pure function that reads records through the view and changes
// them, or refuses. It may run several times, and keeps nothing between two runs.
type decision func(v *view) (dibs.Result, *dibs.Error)

// preparer checks commands of a principal under a set of policies.
type preparer struct {
	policies  *Policies
	principal dibs.Principal

	// wants are the records that the decisions are known to read. They only save loads: a decision
	// can ask for more.
	wants []wanted

	// refused is the first refusal of the command. The checks after it change nothing.
	refused *dibs.Error
}

// prepare makes all checks that need no record, and returns the decision. It runs on the caller's
// goroutine. Every command has a case here and in [Locations].
func (p *preparer) prepare(command dibs.Command) decision {
	switch c := command.(type) {
	case nil:
		p.check(refuse(dibs.CodeInvalidValue, "the command is nil"))
		return nil
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
	case dibs.Import:
		return p.importName(c)
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
		p.check(refuse(dibs.CodeInvalidValue, "unknown command type %T", command))
		return nil
	}
}

// check refuses the command if a check of it returned an error. The first one counts.
func (p *preparer) check(err *dibs.Error) { p.refused = cmp.Or(p.refused, err) }

// takeRefusal returns the refusal of the command, or of one of its parts, and gets ready for the
// next.
func (p *preparer) takeRefusal() *dibs.Error {
	err := p.refused
	p.refused = nil
	return err
}

func (p *preparer) want(refs ...dibs.Ref) {
	for _, ref := range refs {
		p.wants = append(p.wants, wanted{Ref: ref})
	}
}

// expectAbsent is want for a record that is most likely absent.
func (p *preparer) expectAbsent(ref dibs.Ref) { p.wants = append(p.wants, wanted{ref, true}) }

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
	case dibs.Import:
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
