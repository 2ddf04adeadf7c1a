package core

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// joinedStore is the engine of callers' batches. A sweep joins a commit of theirs if it can: the
// commit is synced to disk anyway, and takes a little longer for some more records. It keeps
// account of that, so that callers keep their share of the engine's time.
type joinedStore struct {
	dibs.Store
	offers chan *offer // unbuffered: an offer is open while a sweep waits in it

	alone atomic.Int64 // commits of a sweep by itself that are under way

	mu sync.Mutex
	// Moving averages: how long a commit of callers takes without a sweep, and how much longer for
	// each record of a sweep.
	plain, record time.Duration
	credit        time.Duration // of engine's time that the sweep may take
}

// offer is groups of a sweep that wait for a commit of callers.
type offer struct {
	groups   []dibs.Group
	joined   []int          // the groups that share no record with those of callers
	outcomes []dibs.Outcome // of these
	err      error
	done     chan struct{} // closed when the commit is over
}

const (
	// sweepShare is how much of the engine's time a sweep may take for each part that callers take: they
	// keep 0.7 of their rate.
	sweepShare = 3.0 / 7

	firstRecord    = 50 * time.Microsecond // the estimate before the first sweep
	shortestRecord = 10 * time.Microsecond // no engine is faster: a smaller estimate is noise
	averageOver    = 4                     // commits
	shortestOffer  = 20 * time.Millisecond // callers are there, so a commit of theirs comes soon
)

func newJoinedStore(store dibs.Store) *joinedStore {
	return &joinedStore{Store: store, offers: make(chan *offer), record: firstRecord}
}

// Commit commits groups of callers, and what a sweep offers.
func (j *joinedStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	var o *offer
	select {
	case o = <-j.offers:
	default:
	}
	start, delayed := time.Now(), j.alone.Load() > 0
	all := groups
	if o != nil {
		defer close(o.done)
		all = o.joinTo(groups)
	}
	outcomes, err := j.Store.Commit(ctx, all)
	switch {
	case err == nil && len(outcomes) == len(all):
		if !delayed {
			j.note(time.Since(start), len(all)-len(groups))
		}
		if o != nil {
			o.outcomes = outcomes[len(groups):]
		}
		return outcomes[:len(groups)], nil
	case o != nil:
		o.err = err
		if err == nil {
			o.err = wrongOutcomes(outcomes, all)
		}
	}
	return outcomes, err
}

// joinTo returns the groups with those of the offer that share no record with them which one of
// both writes.
func (o *offer) joinTo(groups []dibs.Group) []dibs.Group {
	written := make(map[rules.Key]bool, 2*len(groups)) // false: only read
	for i := range groups {
		for _, r := range groups[i].Reads {
			if key := rules.KeyOf(r.Ref); !written[key] {
				written[key] = false
			}
		}
		for _, w := range groups[i].Writes {
			written[rules.KeyOf(w.Record.Ref())] = true
		}
	}
	all := append(make([]dibs.Group, 0, len(groups)+len(o.groups)), groups...)
	for i := range o.groups {
		if !shares(&o.groups[i], written) {
			all, o.joined = append(all, o.groups[i]), append(o.joined, i)
		}
	}
	return all
}

// shares reports whether a group reads a record that others write, or writes one that they read.
func shares(g *dibs.Group, written map[rules.Key]bool) bool {
	for _, r := range g.Reads { // the writes are among them
		if written[rules.KeyOf(r.Ref)] {
			return true
		}
	}
	for _, w := range g.Writes {
		if _, read := written[rules.KeyOf(w.Record.Ref())]; read {
			return true
		}
	}
	return false
}

// note keeps account of a commit of callers that some records of a sweep have joined.
func (j *joinedStore) note(took time.Duration, swept int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if swept == 0 {
		if j.plain == 0 {
			j.plain = took
		}
		j.plain += (took - j.plain) / averageOver
	} else {
		each := max((took-j.plain)/time.Duration(swept), shortestRecord)
		j.record += (each - j.record) / averageOver
		j.credit -= time.Duration(swept) * j.record
	}
	// A sweep that has waited long must not double the time of a commit.
	j.credit = min(j.credit+time.Duration(sweepShare*float64(min(took, j.plain))), j.plain)
}

// room returns how many records a sweep may offer, and whether waiting for more would gain much.
func (j *joinedStore) room() (records int, enough bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return int(j.credit / j.record), j.credit > 0 && j.credit >= min(sweepFew*j.record, j.plain)
}

// offer waits until a commit of callers takes the groups, at most for a while. It reports whether
// one did.
func (j *joinedStore) offer(groups []dibs.Group) (*offer, bool) {
	j.mu.Lock()
	// An estimate that is too short is not corrected while the sweep commits by itself: that delays the
	// commits of callers, and a delayed one says nothing about how long one takes.
	wait := time.NewTimer(max(2*j.plain, shortestOffer))
	j.mu.Unlock()
	defer wait.Stop()
	o := &offer{groups: groups, done: make(chan struct{})}
	select {
	case j.offers <- o:
		<-o.done
		return o, true
	case <-wait.C:
		return nil, false
	}
}

// sweptStore is the engine of a sweep. What callers remember of a record is corrected when the
// record is swept. Swept records that they do not remember would only displace others.
type sweptStore struct {
	dibs.Store
	callers *joinedStore
	join    func() bool // whether callers commit
	guesses *guesser
}

func (s sweptStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	outcomes, err := s.commit(ctx, groups)
	if err == nil && s.guesses != nil && len(outcomes) == len(groups) {
		s.guesses.correct(groups, outcomes)
	}
	return outcomes, err
}

// commit joins a commit of callers if there is one soon, and commits by itself what cannot join.
func (s sweptStore) commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if !s.join() {
		return s.commitAlone(ctx, groups)
	}
	o, taken := s.callers.offer(groups)
	if !taken {
		return s.commitAlone(ctx, groups)
	}
	if o.err != nil || len(o.joined) == len(groups) {
		return o.outcomes, o.err
	}
	outcomes := make([]dibs.Outcome, len(groups))
	alone := make([]dibs.Group, 0, len(groups))
	var places []int
	for i := range groups {
		if place, joined := slices.BinarySearch(o.joined, i); joined {
			outcomes[i] = o.outcomes[place]
		} else {
			alone, places = append(alone, groups[i]), append(places, i)
		}
	}
	more, err := s.commitAlone(ctx, alone)
	if err == nil && len(more) != len(alone) {
		err = wrongOutcomes(more, alone)
	}
	if err != nil {
		s.guesses.forgetAll() // some groups are committed
		return nil, err
	}
	for i, place := range places {
		outcomes[place] = more[i]
	}
	return outcomes, nil
}

func (s sweptStore) commitAlone(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	s.callers.alone.Add(1)
	defer s.callers.alone.Add(-1)
	return s.Store.Commit(ctx, groups)
}

// correct replaces or forgets the remembered records that committed groups have changed.
func (g *guesser) correct(groups []dibs.Group, outcomes []dibs.Outcome) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, group := range groups {
		if outcomes[i] != dibs.Committed {
			continue
		}
		for _, w := range group.Writes {
			key := rules.KeyOf(w.Record.Ref())
			switch _, remembered := g.records.Get(key); {
			case remembered && w.Delete:
				g.records.Delete(key)
			case remembered:
				g.put(w.Record, now)
			}
		}
	}
}
