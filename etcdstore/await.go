package etcdstore

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// Await stores the present time as the one until which all ends are final; see
// keys.finalUntil. Commits under way with an earlier stamp then fail and get a new one. So what
// a caller is told to be over stays so. Await writes once for each end that is asked for, and
// not at all if a later time is stored.
//
// If etcd is full, no commit can succeed, and Await has nothing to write.
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
// final already. It is not done if another server was faster.
func (s *Store) makeFinal(ctx context.Context, end dibs.Instant, mark stamp) (done bool, err error) {
	var answer *clientv3.TxnResponse
	err = s.retry(ctx, func(ctx context.Context) (err error) {
		answer, err = s.client.Txn(ctx).
			If(s.isBefore(mark), clientv3.Compare(clientv3.Value(s.keys.finalUntil()), "<", string(number(uint64(end))))).
			Then(s.putClock(mark)...).
			Else(s.readClock()...).Commit()
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
	final, err := s.learnClock(ctx, answer)
	return final >= end, err
}

// putClock stores a stamp, and its time as the one until which all ends are final.
func (s *Store) putClock(mark stamp) []clientv3.Op {
	return []clientv3.Op{
		clientv3.OpPut(s.keys.clock(), mark.encode()),
		clientv3.OpPut(s.keys.finalUntil(), string(number(uint64(mark.time)))),
	}
}

// isAfterFinal is the condition that no end after the time of a stamp is final.
func (s *Store) isAfterFinal(mark stamp) clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(s.keys.finalUntil()), "<", string(number(uint64(mark.time)+1)))
}

// readClock is what a transaction does whose stamp was too late.
func (s *Store) readClock() []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(s.keys.clock()), clientv3.OpGet(s.keys.finalUntil())}
}

// learnClock notes what readClock has found, and returns until when ends are final.
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
	return s.retry(ctx, func(ctx context.Context) error {
		_, err := s.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(s.keys.finalUntil()), "=", 0)).
			Then(clientv3.OpPut(s.keys.finalUntil(), string(number(0)))).Commit()
		return err
	})
}
