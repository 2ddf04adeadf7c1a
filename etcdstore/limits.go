package etcdstore

import (
	"context"
	"errors"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	minOps    = 16   // a single reservation must fit
	enoughOps = 8192 // more would not help
)

var errFewOps = errors.New("the etcd servers allow less than 16 operations in a transaction: raise --max-txn-ops on all members, for example to 2048")

// findMaxOps finds out how many operations the servers allow, by transactions that change
// nothing: etcd has no request for this limit.
func (s *Store) findMaxOps(ctx context.Context) error {
	if s.cfg.MaxTxnOps > 0 {
		s.maxOps = s.cfg.MaxTxnOps
		if s.maxOps < minOps {
			return errFewOps
		}
		return nil
	}
	s.maxOps = minOps
	for ops := 128; ops <= enoughOps; ops *= 2 { // 128 is etcd's own default
		if ok, err := s.allows(ctx, ops); err != nil || !ok {
			return err
		}
		s.maxOps = ops
	}
	return nil
}

// allows reports whether the servers allow a number of operations.
func (s *Store) allows(ctx context.Context, ops int) (bool, error) {
	compares := slices.Repeat([]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.keys.clock()), ">", 0)}, ops)
	_, err := s.transact(ctx, func(t clientv3.Txn) clientv3.Txn { return t.If(compares...).Then(clientv3.OpGet(s.keys.clock())) })
	if errors.Is(err, rpctypes.ErrTooManyOps) {
		return false, nil
	}
	return err == nil, err
}
