package dibs

import (
	"context"
	"fmt"
	"slices"
)

// maxRounds is how often one decision may ask for further records. The longest rule
// needs four if nothing changes meanwhile. But each round loads everything anew, and what
// led to the record that was just asked for may lead to another one by then.
const maxRounds = 50

// request is a list of commands that happen all or none, on its way through a
// batch.
type request struct {
	decisions []decision
	actor     string
	dryRun    bool

	wants   []Ref // what the decisions are known to look at; they may ask for more
	fresh   []Ref // what of it is most likely absent
	retried bool  // it was tried before, and takes no more guesses

	impatient bool // it does not wait for a transaction of somebody else

	awaited []pastEnd // ends that were waited for since the last decision but one

	view    *view    // of the last decision
	results []Result // what was decided
	err     *Error
	now     Instant // the engine's time of the decision

	caller
}

// caller is who waits for a request.
type caller interface {
	// answer is called once, when the request is settled.
	answer(err *Error)
	// busy is called instead when a transaction of somebody else is in its way.
	busy()
}

// decide takes the request's decisions on the ledger. A refused request changes
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

// decideList takes several decisions one after another, each seeing what those
// before it did. After a refused one the others are still decided, so that the error
// names everyone that fails.
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

// decideAll decides the requests on one consistent ledger: it loads what they ask
// for until they ask for nothing more.
func decideAll(ctx context.Context, store Store, requests []*request) (*ledger, error) {
	l := newLedger(2 * len(requests))
	decisions := 0
	for _, r := range requests {
		decisions += len(r.decisions)
		for _, ref := range r.wants {
			l.want(ref)
		}
	}
	// What one decision asks for may depend on what those before it did.
	for range maxRounds * decisions {
		if err := l.load(ctx, store); err != nil {
			return nil, err
		}
		for _, r := range requests {
			r.decide(l)
		}
		if l.complete() {
			return l, nil
		}
	}
	return nil, fmt.Errorf("dibs: %d decisions asked for more records %d times", decisions, maxRounds*decisions)
}

// load brings everything that was asked for, all of it in one Load, so that every
// decision rests on one moment. The names of entities are listed after it: the
// revision of the entity, loaded before, notices what changes in between.
func (l *ledger) load(ctx context.Context, store Store) error {
	snapshot, err := store.Load(ctx, l.wants)
	if err != nil {
		return err
	}
	clear(l.current)
	clear(l.loaded)
	clear(l.renewed)
	l.now = snapshot.Now
	for _, ref := range l.wants {
		l.loaded[ref.key()] = nil
	}
	for _, r := range snapshot.Records {
		l.loaded[r.Ref().key()] = r
	}
	for _, o := range l.owners {
		names, err := store.Owned(ctx, o.scope, o.entity, maxNames+1)
		if err != nil {
			return err
		}
		l.owned[o.key()] = names
	}
	if l.dues > 0 {
		if l.due, err = store.Due(ctx, l.dues); err != nil {
			return err
		}
	}
	l.asked = false
	return nil
}

// restsOnLoadAlone reports whether the request changes nothing, and what it is answered is
// right at the moment of the load.
func (r *request) restsOnLoadAlone() bool {
	return len(r.view.changes) == 0 && !r.view.dependent
}

// isRight reports whether the answer to a request is right once its group is committed. One
// that changes nothing rests on what its neighbours in the batch did, which is so from the
// commit on, and on all else that it looked at, which was so at the load. Commit cannot
// check that both were so at one moment: not what was absent. So it is decided again.
func (r *request) isRight() bool { return len(r.view.changes) > 0 }

// group is a Group with the requests that stand or fall with it.
type group struct {
	Group
	members []*request
}

// groups sorts the decided requests into groups: requests that share a record
// which one of them changes belong together. A request that changes nothing but
// rests on what another one changes belongs to them too, and shares their fate; see
// [request.isRight]. Those that change nothing and rest on no other request are returned apart.
func (l *ledger) groups(requests []*request) (groups []*group, settled []*request) {
	var (
		sets   = make([]int, len(requests))              // union-find over requests
		byLast = make(map[recordKey]int, len(l.current)) // the last request that touched a changed record
	)
	find := func(i int) int {
		for sets[i] != i {
			sets[i] = sets[sets[i]]
			i = sets[i]
		}
		return i
	}
	touch := func(i int, ref Ref) {
		key := ref.key()
		if _, changed := l.current[key]; !changed {
			return
		}
		if j, ok := byLast[key]; ok {
			sets[find(i)] = find(j)
		}
		byLast[key] = i
	}
	for i, r := range requests {
		sets[i] = i
		if r.restsOnLoadAlone() {
			continue
		}
		for _, ref := range r.view.reads {
			touch(i, ref)
		}
		for _, c := range r.view.changes {
			touch(i, c.ref)
		}
	}
	byRoot := make([]*group, len(requests))
	for i, r := range requests {
		if r.restsOnLoadAlone() {
			settled = append(settled, r)
			continue
		}
		g := &byRoot[find(i)]
		if *g == nil {
			// Most groups have one member: no list is made for it.
			*g = &group{Group: Group{Window: l.window}, members: requests[i : i+1 : i+1]}
			groups = append(groups, *g)
			continue
		}
		(*g).members = append((*g).members, r)
	}
	var work refs
	for _, g := range groups {
		l.fill(g, &work)
	}
	return groups, settled
}

// refs is what the members of a group that change something read and change, each
// record once.
type refs struct{ reads, changes []Ref }

// fill works out what a group read, changes and tells. Names that stop being an
// entity's active one come first: engines with a unique index need that.
func (l *ledger) fill(g *group, work *refs) {
	work.gather(g)
	g.Reads = make([]Read, len(work.reads))
	for i, ref := range work.reads {
		g.Reads[i].Ref = ref
		if r := l.loaded[ref.key()]; r != nil {
			g.Reads[i].Rev = r.Revision()
		}
	}
	g.Writes = make([]Write, 0, len(work.changes))
	yields := 0
	for _, ref := range work.changes {
		w, ok := l.write(ref)
		if !ok {
			continue
		}
		g.Writes = append(g.Writes, w)
		if w.Yields {
			last := len(g.Writes) - 1
			g.Writes = slices.Insert(g.Writes[:last], yields, w)
			yields++
		}
	}
}

// gather fills the lists anew, and takes the members' events and windows into the
// group.
func (w *refs) gather(g *group) {
	w.reads, w.changes = w.reads[:0], w.changes[:0]
	for _, r := range g.members {
		if len(r.view.changes) == 0 {
			continue
		}
		g.Window = g.Window.Intersect(r.view.window)
		for _, ref := range r.view.renewed { // nothing is left of what others told before
			g.Events = ref.dropTold(g.Events)
		}
		g.Redacts = append(g.Redacts, r.view.redacts...)
		if g.Events == nil {
			g.Events = slices.Clip(r.view.events)
		} else {
			g.Events = append(g.Events, r.view.events...)
		}
		w.reads = append(w.reads, r.view.reads...)
		for _, c := range r.view.changes {
			w.reads = append(w.reads, c.ref)
			w.changes = append(w.changes, c.ref)
		}
	}
	w.reads, w.changes = distinct(w.reads), distinct(w.changes)
}

// distinct leaves out refs that were there before. There are few of them in nearly
// every group, and then comparing beats hashing.
func distinct(refs []Ref) []Ref {
	const few = 16
	if len(refs) <= few {
		unique := refs[:0]
		for _, ref := range refs {
			if !slices.ContainsFunc(unique, func(r Ref) bool { return r.ID == ref.ID && r.Kind == ref.Kind }) {
				unique = append(unique, ref)
			}
		}
		return unique
	}
	seen := make(map[recordKey]bool, len(refs))
	return slices.DeleteFunc(refs, func(ref Ref) bool {
		again := seen[ref.key()]
		seen[ref.key()] = true
		return again
	})
}

// write returns what becomes of a changed record in the end; nothing where it came
// and went within the batch.
func (l *ledger) write(ref Ref) (Write, bool) {
	before, after := l.loaded[ref.key()], l.current[ref.key()]
	if after == nil {
		return Write{Record: before, Delete: true}, before != nil
	}
	w := Write{Record: after, Renew: before != nil && l.renewed[ref.key()]}
	if old, ok := before.(*NameRecord); ok && old.State == Active {
		now := after.(*NameRecord)
		w.Yields = now.State != Active || now.Owner != old.Owner
	}
	return w, true
}
