package etcdstore

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// isUnknown reports whether an error says that the commit may have happened.
func isUnknown(err error) bool { return errors.Is(err, dibs.ErrOutcomeUnknown) }

// settle finds out what became of a transaction that was answered with an error, if at all,
// and sees to it that this stays so.
func (s *Store) settle(ctx context.Context, t *transaction, failure error) (applied bool, err error) {
	// A time of its own: the transaction may have used up all that it had.
	ctx = context.WithoutCancel(ctx)
	if !isFull(failure) {
		return s.forestall(ctx, t)
	}
	// A member that is full may have done it all the same. But it is no longer under way.
	found, err := s.values(ctx, []string{t.marker}, 0)
	if err != nil {
		return false, err
	}
	return s.evidence(ctx, t, found[0])
}

// forestall settles a transaction that may still be under way. If the order on record is
// lower than the transaction's, it is moved beyond: then the transaction can never happen.
// Otherwise that has been decided, and the marker tells.
func (s *Store) forestall(ctx context.Context, t *transaction) (applied bool, err error) {
	beyond := s.clock.next(0)
	var answer *clientv3.TxnResponse
	err = s.ask(ctx, func(ctx context.Context) (err error) {
		answer, err = s.client.Txn(ctx).If(s.isBefore(t.mark)).
			Then(clientv3.OpPut(s.keys.clock(), beyond.encode())).
			Else(clientv3.OpGet(s.keys.clock()), clientv3.OpGet(t.marker)).Commit()
		return err
	})
	if err != nil {
		return false, err
	}
	if answer.Succeeded {
		s.clock.learn(beyond)
		return false, nil
	}
	if err := s.learnFrom(answer.Responses[0].GetResponseRange().Kvs); err != nil {
		return false, err
	}
	var marker *mvccpb.KeyValue
	if found := answer.Responses[1].GetResponseRange().Kvs; len(found) > 0 {
		marker = found[0]
	}
	return s.evidence(ctx, t, marker)
}

// evidence reports whether a transaction has happened: then its marker, which nobody else
// writes, has its stamp.
func (s *Store) evidence(ctx context.Context, t *transaction, marker *mvccpb.KeyValue) (applied bool, err error) {
	if marker == nil || string(marker.Value) != t.mark.encode() {
		return false, nil
	}
	return true, s.recall(ctx, t, marker.ModRevision)
}

// recall finds out which groups of a transaction were committed: those that rested on what
// was so just before it.
func (s *Store) recall(ctx context.Context, t *transaction, mod int64) error {
	var names []string
	for _, d := range t.drafts {
		for _, read := range d.group.Reads {
			names = append(names, s.keys.ref(read.Ref))
		}
	}
	before, err := s.values(ctx, names, moment(mod-1))
	if err != nil {
		return fmt.Errorf("it has happened, but not for certain all of it: %w", err)
	}
	s.committed(t, mod, func(i int) bool {
		d := t.drafts[i]
		held := true
		for j, read := range d.group.Reads {
			var was int64
			if before[j] != nil {
				was = before[j].ModRevision
			}
			held = held && was == d.formers[s.keys.ref(read.Ref)].mod
		}
		before = before[len(d.group.Reads):]
		return held
	})
	return nil
}
