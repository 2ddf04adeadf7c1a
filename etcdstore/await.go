package etcdstore

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// Await stores the present time in keys.finalUntil, which makes all earlier ends final: commits
// under way with an earlier stamp fail and get a new one. Await writes nothing if a later time
// is stored, or if etcd is full, since no commit can succeed then.
func (s *Store) Await(ctx context.Context, _ []dibs.Ref, end dibs.Instant) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	wait := newBackoff()
	for lost := 0; ; lost++ {
		if err := s.checkClock(); err != nil { // a wrong clock must not move the stored time
			return unavailable(err)
		}
		if s.clock.now() >= end {
			done, err := s.makeFinal(ctx, end, s.clock.next(lost))
			if done || err != nil {
				return unavailable(err)
			}
		}
		if err := wait.Wait(ctx); err != nil {
			return unavailable(err)
		}
	}
}

// makeFinal moves the clock to a stamp and makes all ends up to its time final, unless end is
// final already. It returns false if another server moved the clock first.
func (s *Store) makeFinal(ctx context.Context, end dibs.Instant, mark stamp) (done bool, err error) {
	answer, err := s.transact(ctx, func(t clientv3.Txn) clientv3.Txn {
		return t.If(s.isBefore(mark), clientv3.Compare(clientv3.Value(s.keys.finalUntil()), "<", string(number(uint64(end))))).
			Then(s.putClock(mark)...).
			Else(s.readClock()...)
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
	final, err := s.learnClock(ctx, answer)
	return final >= end, err
}

// putClock stores a stamp in the clock, and its time in finalUntil.
func (s *Store) putClock(mark stamp) []clientv3.Op {
	return []clientv3.Op{
		clientv3.OpPut(s.keys.clock(), mark.encode()),
		clientv3.OpPut(s.keys.finalUntil(), string(number(uint64(mark.time)))),
	}
}

// isAfterFinal is the condition that finalUntil is not later than a stamp.
func (s *Store) isAfterFinal(mark stamp) clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(s.keys.finalUntil()), "<", string(number(uint64(mark.time)+1)))
}

// readClock reads what a transaction must know whose conditions failed.
func (s *Store) readClock() []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(s.keys.clock()), clientv3.OpGet(s.keys.finalUntil())}
}

// learnClock notes the answer to readClock, and returns finalUntil.
func (s *Store) learnClock(ctx context.Context, answer *clientv3.TxnResponse) (final dibs.Instant, err error) {
	if _, err := s.learnStamp(answer.Responses[0].GetResponseRange().Kvs); err != nil {
		return 0, err
	}
	kvs := answer.Responses[1].GetResponseRange().Kvs
	if len(kvs) == 0 {
		return 0, s.createFinalUntil(ctx)
	}
	return dibs.Instant(decodeNumber(kvs[0].Value)), nil
}

// createFinalUntil creates the key in a registry of a version that did not have it.
func (s *Store) createFinalUntil(ctx context.Context) error {
	_, err := s.transact(ctx, func(t clientv3.Txn) clientv3.Txn {
		return t.If(clientv3.Compare(clientv3.CreateRevision(s.keys.finalUntil()), "=", 0)).
			Then(clientv3.OpPut(s.keys.finalUntil(), string(number(0))))
	})
	return err
}
