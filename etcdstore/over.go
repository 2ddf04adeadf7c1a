package etcdstore

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// Await puts on record that everything is over which has ended by now. Commits that were
// stamped with an earlier time and are still under way cannot happen then, and are stamped
// anew: what somebody is told to be over stays so. It is one write for each end that anybody
// looks at, and none where a later one is on record.
//
// Where etcd is full no commit can happen, and so it is already.
func (s *Store) Await(ctx context.Context, _ []dibs.Ref, end dibs.Instant) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	for lost := 0; ; lost++ {
		if err := s.checkClock(); err != nil { // a clock that is off moves no other
			return unavailable(err)
		}
		if s.clock.now() >= end {
			done, err := s.endAll(ctx, end, s.clock.next(lost))
			if done || err != nil {
				return unavailable(err)
			}
		}
		if pause(ctx, lost); ctx.Err() != nil {
			return unavailable(ctx.Err())
		}
	}
}

// endAll moves the clock to a stamp, and puts its time on record as the one up to which all
// ends are final, unless end is among them. It fails if another server was faster.
func (s *Store) endAll(ctx context.Context, end dibs.Instant, mark stamp) (done bool, err error) {
	var answer *clientv3.TxnResponse
	err = s.ask(ctx, func(ctx context.Context) (err error) {
		answer, err = s.client.Txn(ctx).
			If(s.isBefore(mark), clientv3.Compare(clientv3.Value(s.keys.over()), "<", string(number(uint64(end))))).
			Then(clientv3.OpPut(s.keys.clock(), mark.encode()), clientv3.OpPut(s.keys.over(), string(number(uint64(mark.time))))).
			Else(s.lookAtClock()...).Commit()
		return err
	})
	switch {
	case isFull(err):
		return true, nil
	case err != nil:
		return false, err
	case answer.Succeeded:
		s.clock.learn(mark)
		return true, nil
	}
	over, err := s.learnClock(ctx, answer)
	return over >= end, err
}

// isAfterEnds says that a commit's time is not before ends that were told to be final.
func (s *Store) isAfterEnds(mark stamp) clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(s.keys.over()), "<", string(number(uint64(mark.time)+1)))
}

// lookAtClock is what a transaction does that came too late for its stamp.
func (s *Store) lookAtClock() []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(s.keys.clock()), clientv3.OpGet(s.keys.over())}
}

// learnClock takes note of what lookAtClock has found, and returns up to when ends are final.
func (s *Store) learnClock(ctx context.Context, answer *clientv3.TxnResponse) (over dibs.Instant, err error) {
	if err := s.learnFrom(answer.Responses[0].GetResponseRange().Kvs); err != nil {
		return 0, err
	}
	kvs := answer.Responses[1].GetResponseRange().Kvs
	if len(kvs) == 0 {
		return 0, s.createOver(ctx)
	}
	return dibs.Instant(decodeNumber(kvs[0].Value)), nil
}

// createOver puts the key on record that Await moves, in a registry from before there was
// one.
func (s *Store) createOver(ctx context.Context) error {
	return s.ask(ctx, func(ctx context.Context) error {
		_, err := s.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(s.keys.over()), "=", 0)).
			Then(clientv3.OpPut(s.keys.over(), string(number(0)))).Commit()
		return err
	})
}
