package etcdstore

import (
	"context"
	"errors"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// limits is what the servers take in one transaction.
type limits struct {
	ops int // --max-txn-ops
}

const (
	fewestOps = 16   // a single reservation must fit
	mostOps   = 8192 // more would be of no use
)

var errFewOps = errors.New("the etcd servers take less than 16 operations in a transaction: raise --max-txn-ops on all members, to 2048 say")

// findLimits finds out how many operations the servers take, by transactions that compare
// and do nothing: no request tells.
func (s *Store) findLimits(ctx context.Context) error {
	if s.cfg.MaxTxnOps > 0 {
		s.limits.ops = s.cfg.MaxTxnOps
	} else {
		s.limits.ops = fewestOps
		for ops := 128; ops <= mostOps; ops *= 2 { // 128 is etcd's own default
			ok, err := s.takes(ctx, ops)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			s.limits.ops = ops
		}
	}
	if s.limits.ops < fewestOps {
		return errFewOps
	}
	return nil
}

// takes reports whether the servers take so many operations.
func (s *Store) takes(ctx context.Context, ops int) (bool, error) {
	compares := slices.Repeat([]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.keys.clock()), ">", 0)}, ops)
	err := s.ask(ctx, func(ctx context.Context) error {
		_, err := s.client.Txn(ctx).If(compares...).Then(clientv3.OpGet(s.keys.clock())).Commit()
		return err
	})
	if errors.Is(err, rpctypes.ErrTooManyOps) {
		return false, nil
	}
	return err == nil, err
}
