package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

const (
	// maxLost is how many races a transaction may lose. It loses fewer in practice, since each
	// lost race raises its order further.
	maxLost = 100

	// maxBytes bounds a transaction that could be split. etcd's own limit is 1.5 MiB, unless
	// --max-request-bytes says otherwise.
	maxBytes = 1 << 20

	// ownOps is the number of operations besides the groups and the due dates: a transaction
	// puts the clock, its marker and its entry in the feed.
	ownOps = 3
)

// Commit commits groups, in as few transactions as the servers' limits allow. Groups that
// share a transaction are committed or stale one by one.
func (s *Store) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	return during(ctx, s, func() ([]dibs.Outcome, error) {
		if err := s.checkClock(); err != nil {
			return nil, dibs.Unavailable(err).Because(dibs.CauseClock)
		}
		pending, err := s.prepare(ctx, groups)
		if err == nil {
			err = s.sendAll(ctx, s.split(pending))
		}
		if err != nil {
			return nil, err
		}
		outcomes := make([]dibs.Outcome, len(pending))
		for i, p := range pending {
			outcomes[i] = p.outcome
		}
		return outcomes, nil
	})
}

// sendAll commits batches, each in a transaction of its own. An error after the first commit
// must not say that nothing happened: the remaining groups are stale instead.
func (s *Store) sendAll(ctx context.Context, batches [][]*pendingGroup) error {
	for i, batch := range batches {
		if err := s.send(ctx, batch); err != nil {
			if i > 0 && !errors.Is(err, dibs.ErrOutcomeUnknown) {
				return nil
			}
			return err
		}
	}
	return nil
}

// split divides groups into transactions within the servers' limits.
func (s *Store) split(pending []*pendingGroup) (batches [][]*pendingGroup) {
	var batch []*pendingGroup
	var used room
	for _, p := range pending {
		if p.stale {
			continue
		}
		alone := room{}.with(s, p)
		if alone.ops() > s.maxOps {
			p.outcome = dibs.TooLarge
			continue
		}
		next := used.with(s, p)
		if len(batch) > 0 && (next.ops() > s.maxOps || next.bytes > maxBytes || next.events > maxEvents) {
			batches = append(batches, batch)
			batch, next = nil, alone
		}
		batch, used = append(batch, p), next
	}
	if len(batch) > 0 {
		batches = append(batches, batch)
	}
	return batches
}

// room is what groups take of a transaction's limits.
type room struct {
	groups, largest int // the number of groups, and the operations of the largest
	due             int // keys of due dates, at most
	period          uint64
	bytes, events   int
}

// ops returns the number of operations, as etcd counts them.
func (r room) ops() int { return ownOps + r.groups + r.due + r.largest }

// with returns the room that one more group takes.
func (r room) with(s *Store, p *pendingGroup) room {
	ops, bytes := s.size(p)
	r.groups, r.largest = r.groups+1, max(r.largest, ops)
	r.bytes, r.events = r.bytes+bytes, r.events+len(p.group.Events)
	for _, d := range p.due {
		if period := periodOf(d.date); r.due == 0 || period != r.period {
			r.due, r.period = r.due+1, period
		}
	}
	return r
}

// send commits groups in one transaction. Without an error each of them has its outcome.
func (s *Store) send(ctx context.Context, batch []*pendingGroup) error {
	slot := s.slots.take()
	defer s.slots.release(slot)
	marker := s.keys.marker(s.server, slot)
	began := time.Now()
	var final dibs.Instant // see keys.finalUntil
	wait := newBackoff()
	for lost := 0; lost < maxLost; {
		mark := s.clock.next(lost)
		mark.time = max(mark.time, final)
		t := newTransaction(batch, mark, marker)
		if len(t.groups) == 0 {
			return nil
		}
		answer, err := s.try(ctx, t)
		switch {
		case err == nil && answer.Succeeded:
			s.clock.learn(t.mark)
			s.committed(ctx, t, answer.Header.Revision, func(i int) bool { return answer.Responses[i].GetResponseTxn().Succeeded })
			return nil
		case err == nil: // another server was faster, or there is a fence
			if err := s.fence.moved(answer.Responses[2]); err != nil {
				return err
			}
			if final, err = s.learnClock(ctx, answer); err != nil {
				return unavailable(err)
			}
			lost++
			continue
		case isTooLarge(err) && len(batch) > 1:
			half := len(batch) / 2
			return s.sendAll(ctx, [][]*pendingGroup{batch[:half], batch[half:]})
		case isTooLarge(err):
			batch[0].outcome = dibs.TooLarge
			return nil
		case isUndelivered(err) && time.Since(began) < s.cfg.Timeout && ctx.Err() == nil:
			// Another member may take it, with a new stamp: a window may close meanwhile.
			_ = wait.Wait(ctx)
			continue
		case isRefusal(err):
			return unavailable(err)
		}
		applied, outcomeErr := s.findOutcome(ctx, t, err)
		switch {
		case outcomeErr != nil:
			return dibs.OutcomeUnknown(fmt.Errorf("%w; its outcome cannot be found out: %w", err, outcomeErr)).Because(causeOf(err))
		case applied:
			return nil
		case isFull(err) || ctx.Err() != nil || time.Since(began) > s.cfg.Timeout:
			return unavailable(err)
		}
		lost++
	}
	return nil // all are stale, and are decided again when there are fewer writes
}

// transaction is one attempt to commit groups.
type transaction struct {
	mark   stamp
	marker string
	groups []*pendingGroup // those whose window contains the stamp
}

func newTransaction(batch []*pendingGroup, mark stamp, marker string) *transaction {
	t := &transaction{mark: mark, marker: marker}
	for _, p := range batch {
		if p.group.Window.Contains(mark.time) {
			t.groups = append(t.groups, p)
		}
	}
	return t
}

// try sends a transaction once: a second attempt could commit it twice.
func (s *Store) try(ctx context.Context, t *transaction) (*clientv3.TxnResponse, error) {
	request := s.request(t)
	return attempt(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		answer, err := s.kv.Txn(ctx, request)
		return (*clientv3.TxnResponse)(answer), clientv3.ContextError(ctx, err)
	})
}

// request returns the request of a transaction. The entry in the feed lists the events of all
// groups, committed or not: readers skip events that are not there. So it is with due dates.
func (s *Store) request(t *transaction) *pb.TxnRequest {
	var ids []byte
	var due dueDates
	then := make([]*pb.RequestOp, 0, len(t.groups)+ownOps+1)
	for _, p := range t.groups {
		then = append(then, inner(compares(p), s.ops(p, t.mark, len(ids)/len(dibs.ID{}))))
		for i := range p.group.Events {
			ids = append(ids, p.group.Events[i].ID[:]...)
		}
		due = append(due, p.due...)
	}
	mark := []byte(t.mark.encode())
	then = append(then, put(s.keys.clock(), mark), put(t.marker, mark))
	then = append(then, s.putDue(due, t.mark.order)...)
	if len(ids) > 0 {
		then = append(then, put(s.keys.feed()+number(t.mark.order), ids))
	}
	before, final := s.isBefore(t.mark), s.isFinalBefore(t.mark.time+1)
	return &pb.TxnRequest{
		Compare: []*pb.Compare{before.GetCompare(), final.GetCompare(), s.fence.absent},
		Success: then,
		Failure: []*pb.RequestOp{get(s.keys.clock()), get(s.keys.finalUntil()), s.fence.read}, // for learnClock, and moved
	}
}

// committed sets the outcomes of a transaction that etcd has applied, at its revision mod. It
// notes how the groups have left their records; after a stale one it forgets what that rested on.
func (s *Store) committed(ctx context.Context, t *transaction, mod int64, succeeded func(i int) bool) {
	for i, p := range t.groups {
		if !succeeded(i) {
			for _, read := range p.reads {
				s.footprints.remove(read.key)
			}
			continue
		}
		p.outcome = dibs.Committed
		for _, w := range p.group.Writes {
			if key := s.keys.ref(w.Record.Ref()); w.Delete {
				s.footprints.remove(key)
			} else {
				var latest recent
				if n := p.name(w.Record.Ref().ID); n != nil {
					latest = n.latest
				}
				s.footprints.put(key, s.footprint(w.Record, mod, latest))
			}
		}
	}
	s.tidyFeed(ctx, t)
	s.tidyDue(ctx, t)
}

// findOutcome reports whether a transaction was applied although it returned an error. Its answer
// is final.
func (s *Store) findOutcome(ctx context.Context, t *transaction, failure error) (applied bool, err error) {
	// The transaction may have used up the caller's time.
	ctx = context.WithoutCancel(ctx)
	beyond, read := s.clock.next(0), clientv3.OpGet(t.marker)
	answer, err := s.transact(ctx, func(txn clientv3.Txn) clientv3.Txn {
		if isFull(failure) {
			return txn.Then(read) // a full member may have applied the transaction, but has certainly finished it
		}
		// It may still be under way. Once the stored order is higher, it can never be applied.
		return txn.If(s.isBefore(beyond)).Then(read, clientv3.OpPut(s.keys.clock(), beyond.encode())).Else(read)
	})
	if err != nil {
		return false, err
	}
	// If it was applied, its marker, which only this slot writes, has its stamp.
	marker := answer.Responses[0].GetResponseRange().Kvs
	if len(marker) == 0 || string(marker[0].Value) != t.mark.encode() {
		return false, nil
	}
	return true, s.findCommitted(ctx, t, marker[0].ModRevision)
}

// findCommitted finds out which groups of an applied transaction were committed: those whose
// conditions were true just before it.
func (s *Store) findCommitted(ctx context.Context, t *transaction, mod int64) error {
	var keys []string
	for _, p := range t.groups {
		for _, read := range p.reads {
			keys = append(keys, read.key)
		}
	}
	before, err := s.getKeys(ctx, keys, mod-1)
	if err != nil {
		return fmt.Errorf("the transaction was applied, but it is unknown which groups were stale: %w", err)
	}
	s.committed(ctx, t, mod, func(i int) bool {
		p := t.groups[i]
		succeeded := true
		for j, read := range p.reads {
			succeeded = succeeded && before[j].GetModRevision() == read.former.mod
		}
		before = before[len(p.group.Reads):]
		return succeeded
	})
	return nil
}

// slots numbers concurrent commits, so that each has a marker of its own.
type slots struct {
	mu   sync.Mutex
	busy []bool
}

// take returns the lowest free slot.
func (s *slots) take() uint16 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, busy := range s.busy {
		if !busy {
			s.busy[i] = true
			return uint16(i)
		}
	}
	s.busy = append(s.busy, true)
	return uint16(len(s.busy) - 1)
}

func (s *slots) release(slot uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[slot] = false
}

// used reports whether any slot was ever taken.
func (s *slots) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.busy) > 0
}
