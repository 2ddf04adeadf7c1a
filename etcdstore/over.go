package etcdstore

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// mostOver is how often a Load looks again because something has just ended.
const mostOver = 3

// endedUnseen reports whether something among records is over now, and was not at the time
// on record. A commit that was stamped before it ended may still be under way then.
func endedUnseen(records []dibs.Record, onRecord, now dibs.Instant) bool {
	for _, record := range records {
		if due := dueOf(record); due > onRecord && due <= now {
			return true
		}
	}
	return false
}

// moveClock puts the time of now on record: commits that were stamped before can no longer
// happen, and are stamped anew. So what somebody is told to be over stays so. Where etcd is
// full nobody can commit anything, and so it is already.
func (s *Store) moveClock(ctx context.Context) error {
	mark := s.clock.next(0)
	var answer *clientv3.TxnResponse
	err := s.ask(ctx, func(ctx context.Context) (err error) {
		answer, err = s.client.Txn(ctx).If(s.isBefore(mark)).
			Then(clientv3.OpPut(s.keys.clock(), mark.encode())).
			Else(clientv3.OpGet(s.keys.clock())).Commit()
		return err
	})
	switch {
	case isFull(err):
		return nil
	case err != nil:
		return err
	case answer.Succeeded:
		s.clock.learn(mark)
		return nil
	}
	return s.learnFrom(answer.Responses[0].GetResponseRange().Kvs)
}
