package etcdstore

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

const (
	// maxLost is how often a transaction tries again because another one has taken its
	// place in the order. Each time it leaps further ahead, so this is never reached.
	maxLost = 100

	// maxBytes is how much is put into a transaction that could be two. etcd's own limit is
	// 1.5 MiB, unless --max-request-bytes says otherwise.
	maxBytes = 1 << 20

	// ownOps is what a transaction does at most besides its groups: it puts the clock, its
	// marker and its entry in the feed.
	ownOps = 3
)

// Commit commits groups, in as few transactions as the servers' limits allow. Groups that
// share a transaction are still committed or stale one by one.
func (s *Store) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.End()
	if err := s.checkClock(); err != nil {
		return nil, dibs.Unavailable(err).Because(dibs.CauseClock)
	}
	drafts, err := s.prepare(ctx, groups)
	if err != nil {
		return nil, unavailable(err)
	}
	if err := s.sendAll(ctx, s.split(drafts)); err != nil {
		return nil, err
	}
	outcomes := make([]dibs.Outcome, len(drafts))
	for i, d := range drafts {
		outcomes[i] = d.outcome
	}
	return outcomes, nil
}

// sendAll commits drafts, each batch in a transaction of its own. After one that was
// committed there is no error that says that nothing happened: the rest is stale then.
func (s *Store) sendAll(ctx context.Context, batches [][]*draft) error {
	for i, batch := range batches {
		if err := s.send(ctx, batch); err != nil {
			if i > 0 && !isUnknown(err) {
				return nil
			}
			return err
		}
	}
	return nil
}

// split sorts drafts into transactions within the servers' limits.
func (s *Store) split(drafts []*draft) (batches [][]*draft) {
	var batch []*draft
	var most, bytes, events int
	for _, d := range drafts {
		if d.decided {
			continue
		}
		ops, size := s.size(d)
		if ownOps+1+ops > s.limits.ops {
			d.decided, d.outcome = true, dibs.TooLarge
			continue
		}
		fits := ownOps+len(batch)+1+max(most, ops) <= s.limits.ops && bytes+size <= maxBytes && events+len(d.group.Events) <= maxEvents
		if !fits && len(batch) > 0 {
			batches = append(batches, batch)
			batch, most, bytes, events = nil, 0, 0, 0
		}
		batch = append(batch, d)
		most, bytes, events = max(most, ops), bytes+size, events+len(d.group.Events)
	}
	if len(batch) > 0 {
		batches = append(batches, batch)
	}
	return batches
}

// send commits drafts in one transaction. Without an error each of them has its outcome.
func (s *Store) send(ctx context.Context, batch []*draft) error {
	slot := s.slots.take()
	defer s.slots.give(slot)
	marker := s.keys.marker(s.server, slot)
	began := time.Now()
	var over dibs.Instant // up to when ends are final, as far as it was told
	for lost, unheard := 0, 0; lost < maxLost; {
		mark := s.clock.next(lost)
		mark.time = max(mark.time, over)
		t := s.transaction(batch, mark, marker)
		if len(t.drafts) == 0 {
			return nil
		}
		answer, err := s.try(ctx, t)
		switch {
		case err == nil && answer.Succeeded:
			s.committed(t, answer.Header.Revision, func(i int) bool {
				return answer.Responses[t.own+i].GetResponseTxn().Succeeded
			})
			s.clock.learn(t.mark)
			s.sweepFeed(ctx, t)
			return nil
		case err == nil: // another one was faster
			if over, err = s.learnClock(ctx, answer); err != nil {
				return unavailable(err)
			}
			lost++
			continue
		case isTooLarge(err):
			return s.sendHalves(ctx, batch)
		case isUnheard(err) && time.Since(began) < s.cfg.Timeout && ctx.Err() == nil:
			// Another member may take it, with a stamp of then: a window may close meanwhile.
			pause(ctx, unheard)
			unheard++
			continue
		case isRefusal(err):
			return unavailable(err)
		}
		applied, settleErr := s.settle(ctx, t, err)
		switch {
		case settleErr != nil:
			return dibs.OutcomeUnknown(fmt.Errorf("%w; then, asked what became of it: %w", err, settleErr)).Because(causeOf(err))
		case applied:
			s.sweepFeed(ctx, t)
			return nil
		case isFull(err) || ctx.Err() != nil || time.Since(began) > s.cfg.Timeout:
			return unavailable(err)
		}
		lost++
	}
	return nil // all are stale: decided anew they come to a time when others write less
}

// sendHalves commits drafts that the servers refused by their size, in two transactions. A
// single one cannot be made smaller here.
func (s *Store) sendHalves(ctx context.Context, batch []*draft) error {
	if len(batch) == 1 {
		batch[0].outcome = dibs.TooLarge
		return nil
	}
	half := len(batch) / 2
	return s.sendAll(ctx, [][]*draft{batch[:half], batch[half:]})
}

// transaction is one attempt to commit drafts.
type transaction struct {
	mark   stamp
	marker string
	drafts []*draft // those whose window contains the stamp
	own    int      // how many operations come before those of the drafts
}

func (s *Store) transaction(batch []*draft, mark stamp, marker string) *transaction {
	t := &transaction{mark: mark, marker: marker}
	for _, d := range batch {
		if d.group.Window.Contains(mark.time) {
			t.drafts = append(t.drafts, d)
		}
	}
	return t
}

// isBefore says that the clock on record has a lower order than a stamp.
func (s *Store) isBefore(mark stamp) clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(s.keys.clock()), "<", string(number(mark.order)))
}

// try sends a transaction, once: another attempt could make two of it.
func (s *Store) try(ctx context.Context, t *transaction) (answer *clientv3.TxnResponse, err error) {
	then := s.ownChanges(t)
	t.own = len(then)
	events := 0
	for _, d := range t.drafts {
		then = append(then, clientv3.OpTxn(s.compares(d), s.ops(d, t.mark, events), nil))
		events += len(d.group.Events)
	}
	err = s.once(ctx, func(ctx context.Context) (err error) {
		answer, err = s.client.Txn(ctx).If(s.isBefore(t.mark), s.isAfterEnds(t.mark)).Then(then...).
			Else(s.lookAtClock()...).Commit()
		return err
	})
	return answer, err
}

// ownChanges are what a transaction puts for all of its groups together. What it tells is
// put whichever of them are committed: events that are not there are passed over.
func (s *Store) ownChanges(t *transaction) []clientv3.Op {
	changes := []clientv3.Op{
		clientv3.OpPut(s.keys.clock(), t.mark.encode()),
		clientv3.OpPut(t.marker, t.mark.encode()),
	}
	var told []byte
	for _, d := range t.drafts {
		for i := range d.group.Events {
			told = append(told, d.group.Events[i].ID[:]...)
		}
	}
	if len(told) > 0 {
		changes = append(changes, clientv3.OpPut(s.keys.told(t.mark.order), string(told)))
	}
	return changes
}

// committed notes what became of a transaction that has happened, as etcd's revision.
func (s *Store) committed(t *transaction, mod int64, held func(i int) bool) {
	for i, d := range t.drafts {
		if held(i) {
			d.outcome = dibs.Committed
		}
		s.remember(d, mod)
	}
}

// remember takes note of how a draft has left its records. After a stale one nothing is
// known of what it rested on.
func (s *Store) remember(d *draft, mod int64) {
	if d.outcome != dibs.Committed {
		for _, read := range d.group.Reads {
			s.known.forget(s.keys.ref(read.Ref))
		}
		return
	}
	for _, w := range d.group.Writes {
		if key := s.keys.ref(w.Record.Ref()); w.Delete {
			s.known.forget(key)
		} else {
			s.known.put(key, s.footprint(w.Record, mod))
		}
	}
}
