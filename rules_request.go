package dibs

import "fmt"

// maxCommands is how many commands one Apply may have.
const maxCommands = 32

// request is a list of decisions that are committed together or not at all. It is decided
// on a batch state, with other requests, and possibly several times.
type request struct {
	decisions []decision
	actor     string
	dryRun    bool

	wants []Ref // what the decisions are known to read; they may ask for more
	fresh []Ref // the wanted records that are most likely absent

	// What the last decision came to.
	view    *view
	results []Result
	err     *Error
	now     Instant // the engine's time
}

// newRequest checks commands, and names every one that is not well-formed.
func newRequest(set *policies, req ApplyRequest) (*request, *Error) {
	if err := checkPrincipal(req.Principal); err != nil {
		return nil, err
	}
	switch n := len(req.Commands); {
	case n == 0:
		return nil, &Error{Code: CodeInvalidValue, Message: "there is no command to apply"}
	case n > maxCommands:
		return nil, &Error{Code: CodeTooLarge, Message: fmt.Sprintf("%d commands in one Apply, more than the %d allowed", n, maxCommands)}
	}
	p := &preparer{policies: set, principal: req.Principal}
	decisions := make([]decision, len(req.Commands))
	var failures []Failure
	for i, command := range req.Commands {
		var err *Error
		if decisions[i], err = p.prepare(command); err != nil {
			failures = append(failures, Failure{i, err})
		}
	}
	switch {
	case len(failures) == 0:
		return &request{decisions: decisions, wants: p.wants, fresh: p.fresh, actor: req.Principal.Name, dryRun: req.DryRun}, nil
	case len(req.Commands) == 1:
		return nil, failures[0].Err
	default:
		return nil, several(failures, len(req.Commands))
	}
}

// length returns how many decisions the request has.
func (r *request) length() int { return len(r.decisions) }

// size returns how many records the request is known to read.
func (r *request) size() int { return len(r.wants) }

// result returns what was decided.
func (r *request) result() ([]Result, *Error) { return r.results, r.err }

// decidedAt returns the engine's time of the last decision, zero before the first.
func (r *request) decidedAt() Instant { return r.now }

// changes reports whether the last decision changes anything.
func (r *request) changes() bool { return len(r.view.changes) > 0 }

// pastEnds returns the ends that the last decision rests on and that no commit has written.
func (r *request) pastEnds() []pastEnd { return r.view.ended }

// decide takes the request's decisions on the batch state. A refused request changes
// nothing.
func (r *request) decide(l *ledger) {
	r.now = l.now
	r.view = l.view(r.actor)
	if len(r.decisions) == 1 {
		result, err := r.decisions[0](r.view)
		r.results, r.err = []Result{result}, err
	} else {
		r.decideList()
	}
	if r.view.fault != nil {
		r.err = r.view.fault
	}
	if r.err != nil || r.dryRun {
		r.view.changes, r.view.events, r.view.renewed, r.view.redacts = nil, nil, nil, nil
	}
	r.view.accept()
}

// decideList takes several decisions in order; each sees what the decisions before it
// changed. After a refusal the rest is still decided, so that the error names every command
// that fails.
func (r *request) decideList() {
	r.results, r.err = make([]Result, len(r.decisions)), nil
	var failures []Failure
	for i, decide := range r.decisions {
		v := r.view.nested()
		result, err := decide(v)
		v.close(err == nil)
		if err != nil {
			failures = append(failures, Failure{i, err})
		}
		r.results[i] = result
	}
	if len(failures) > 0 {
		r.err = several(failures, len(r.decisions))
	}
}

// job is a request of the registry's own: a question that a caller asked, or housekeeping.
// Its outcome has a type of its own.
type job[T any] struct {
	*request
	outcome T
}

// newJob returns a job that decides what to change.
func newJob[T any](p *preparer, decide func(v *view) (T, *Error)) *job[T] {
	j := &job[T]{request: &request{wants: p.wants}}
	j.decisions = []decision{func(v *view) (_ Result, err *Error) {
		j.outcome, err = decide(v)
		return Result{}, err
	}}
	return j
}

// newQuestion returns a job that changes nothing. The answer must not keep anything of an
// earlier run.
func newQuestion[T any](p *preparer, answer func(v *view) (T, *Error)) *job[T] {
	j := newJob(p, answer)
	j.dryRun = true
	return j
}

// result returns the outcome of the last decision.
func (j *job[T]) result() (T, *Error) { return j.outcome, j.err }

// several wraps the failures of a command with many parts into one error.
func several(failures []Failure, total int) *Error {
	first := *failures[0].Err
	first.Message = fmt.Sprintf("%d of %d refused, none was done; number %d: %s",
		len(failures), total, failures[0].Index+1, first.Message)
	first.Failures = failures
	return &first
}
