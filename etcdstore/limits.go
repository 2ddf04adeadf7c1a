package etcdstore

import (
	"context"
	"errors"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// limits are the servers' limits of one transaction.
type limits struct {
	ops int // --max-txn-ops
}

const (
	minOps = 16   // a single reservation must fit
	maxOps = 8192 // more would not help
)

var errFewOps = errors.New("the etcd servers allow less than 16 operations in a transaction: raise --max-txn-ops on all members, for example to 2048")

// findLimits finds out how many operations the servers allow, by transactions that only
// compare: etcd has no request for it.
func (s *Store) findLimits(ctx context.Context) error {
	if s.cfg.MaxTxnOps > 0 {
		s.limits.ops = s.cfg.MaxTxnOps
	} else {
		s.limits.ops = minOps
		for ops := 128; ops <= maxOps; ops *= 2 { // 128 is etcd's own default
			ok, err := s.allows(ctx, ops)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			s.limits.ops = ops
		}
	}
	if s.limits.ops < minOps {
		return errFewOps
	}
	return nil
}

// allows reports whether the servers allow a number of operations.
func (s *Store) allows(ctx context.Context, ops int) (bool, error) {
	compares := slices.Repeat([]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.keys.clock()), ">", 0)}, ops)
	err := s.retry(ctx, func(ctx context.Context) error {
		_, err := s.client.Txn(ctx).If(compares...).Then(clientv3.OpGet(s.keys.clock())).Commit()
		return err
	})
	if errors.Is(err, rpctypes.ErrTooManyOps) {
		return false, nil
	}
	return err == nil, err
}
