package etcdstore

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// findOutcome reports whether a transaction was applied although it returned an error. Its answer
// is final.
func (s *Store) findOutcome(ctx context.Context, t *transaction, failure error) (applied bool, err error) {
	// The transaction may have used up the caller's time.
	ctx = context.WithoutCancel(ctx)
	if !isFull(failure) {
		return s.prevent(ctx, t)
	}
	// A full member may have applied the transaction, but has certainly finished it.
	found, err := s.getKeys(ctx, []string{t.marker}, 0)
	if err != nil {
		return false, err
	}
	return s.checkMarker(ctx, t, found[0])
}

// prevent finds the outcome of a transaction that may still be under way. If the stored order
// is lower than the transaction's, prevent raises it above, so that the transaction can never be
// applied. Otherwise the outcome is final, and the marker shows it.
func (s *Store) prevent(ctx context.Context, t *transaction) (applied bool, err error) {
	beyond := s.clock.next(0)
	answer, err := s.transact(ctx, func(txn clientv3.Txn) clientv3.Txn {
		return txn.If(s.isBefore(t.mark)).
			Then(clientv3.OpPut(s.keys.clock(), beyond.encode())).
			Else(clientv3.OpGet(s.keys.clock()), clientv3.OpGet(t.marker))
	})
	if err != nil {
		return false, err
	}
	if answer.Succeeded {
		s.clock.learn(beyond)
		return false, nil
	}
	if _, err := s.learnStamp(answer.Responses[0].GetResponseRange().Kvs); err != nil {
		return false, err
	}
	var marker *mvccpb.KeyValue
	if found := answer.Responses[1].GetResponseRange().Kvs; len(found) > 0 {
		marker = found[0]
	}
	return s.checkMarker(ctx, t, marker)
}

// checkMarker reports whether a transaction was applied: then its marker, which only this slot
// writes, has its stamp.
func (s *Store) checkMarker(ctx context.Context, t *transaction, marker *mvccpb.KeyValue) (applied bool, err error) {
	if marker == nil || string(marker.Value) != t.mark.encode() {
		return false, nil
	}
	return true, s.findCommitted(ctx, t, marker.ModRevision)
}

// findCommitted finds out which groups of an applied transaction were committed: those whose
// conditions were true just before it.
func (s *Store) findCommitted(ctx context.Context, t *transaction, mod int64) error {
	var keys []string
	for _, p := range t.groups {
		for _, read := range p.group.Reads {
			keys = append(keys, s.keys.ref(read.Ref))
		}
	}
	before, err := s.getKeys(ctx, keys, revision(mod-1))
	if err != nil {
		return fmt.Errorf("the transaction was applied, but it is unknown which groups were stale: %w", err)
	}
	s.committed(t, mod, func(i int) bool {
		p := t.groups[i]
		succeeded := true
		for j, read := range p.group.Reads {
			var was int64
			if before[j] != nil {
				was = before[j].ModRevision
			}
			succeeded = succeeded && was == p.formers[s.keys.ref(read.Ref)].mod
		}
		before = before[len(p.group.Reads):]
		return succeeded
	})
	return nil
}
