package etcdstore

import (
	"context"
	"encoding/hex"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

var _ record.Fencer = (*Store)(nil)

// fence is what every transaction of a commit contains: the condition that there is no fence, and
// the request for it if the conditions fail. Transactions share both, and so pay for no memory.
type fence struct {
	absent *pb.Compare
	read   *pb.RequestOp
}

func newFence(k keys) fence {
	key := k.ref(record.FenceRef)
	return fence{absent: unchangedSince(key, 0), read: get(key)}
}

// moved returns the error of a transaction that the fence refused; nil if there is none.
func (fence) moved(answer *pb.ResponseOp) error {
	kvs := answer.GetResponseRange().Kvs
	if len(kvs) == 0 {
		return nil
	}
	r, _, err := decode(record.FenceRef.Kind, record.FenceRef.ID, kvs[0].Value)
	if err != nil {
		return err
	}
	return dibs.Moved(record.Place(r))
}

// Fence makes every later Commit fail: its transaction compares the key of the fence.
func (s *Store) Fence(ctx context.Context, place string) error {
	document := record.NewFence(place)
	ops := []clientv3.Op{clientv3.OpPut(s.keys.ref(document.Ref()), string(encode(document)))}
	for _, index := range s.indexes(document) {
		ops = append(ops, clientv3.OpPut(index.key, string(index.id[:])))
	}
	return s.changeFence(ctx, ops)
}

// Unfence allows commits again.
func (s *Store) Unfence(ctx context.Context) error {
	ops := []clientv3.Op{clientv3.OpDelete(s.keys.ref(record.FenceRef))}
	for _, index := range s.indexes(record.NewFence("")) {
		ops = append(ops, clientv3.OpDelete(index.key))
	}
	return s.changeFence(ctx, ops)
}

func (s *Store) changeFence(ctx context.Context, ops []clientv3.Op) error {
	_, err := during(ctx, s, func() (*clientv3.TxnResponse, error) {
		return s.transact(ctx, func(t clientv3.Txn) clientv3.Txn { return t.Then(ops...) })
	})
	return err
}

// cursorGap is how far behind the last cursor of another store ContinueAfter begins, in the unit
// of orders, which is about a microsecond. Later, the orders of a copy follow those of its source
// by themselves.
const cursorGap = 1 << 32

// ContinueAfter orders later events far behind a cursor of another prefix, of which this empty one
// becomes a copy. A reader with any cursor of that prefix then gets all events here.
func (s *Store) ContinueAfter(ctx context.Context, cursor dibs.Cursor) error {
	raw, err := hex.DecodeString(string(cursor))
	if err != nil || len(raw) != positionSize {
		return dibs.ErrBadCursor
	}
	_, err = during(ctx, s, func() (struct{}, error) {
		for lost := range maxLost {
			mark := s.clock.next(lost)
			mark.order = max(mark.order, decodeNumber(raw[:orderSize])+cursorGap)
			if moved, _, err := s.moveClock(ctx, mark); moved || err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, errContention
	})
	return err
}
