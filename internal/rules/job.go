package rules

import "github.com/calldibs/dibs"

// Job is a request that is not an Apply: a question of a caller, or housekeeping. Its outcome has
// a type of its own.
type Job[T any] struct {
	*Request
	outcome T
}

// preparer returns a preparer for a job that reads these records.
func (set *Policies) preparer(refs ...dibs.Ref) *preparer {
	return &preparer{policies: set, wants: refs}
}

// newJob returns a job that decides what to change.
func newJob[T any](p *preparer, decide func(v *view) (T, *dibs.Error)) *Job[T] {
	j := &Job[T]{Request: &Request{wants: p.wants}}
	j.decisions = []decision{func(v *view) (_ dibs.Result, err *dibs.Error) {
		j.outcome, err = decide(v)
		return dibs.Result{}, err
	}}
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
