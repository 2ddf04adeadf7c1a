package etcdstore

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

func newBackoff() *backoff.Backoff {
	return &backoff.Backoff{First: 5 * time.Millisecond, Max: 200 * time.Millisecond}
}

// retry repeats an idempotent call until a member answers. Each attempt has a share of the
// timeout, so that a member that does not answer leaves time for the others.
func retry[T any](ctx context.Context, s *Store, call func(ctx context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	for wait := newBackoff(); ; {
		answer, err = attempt(ctx, s, call)
		if err == nil || ctx.Err() != nil || !isTransient(err) || wait.Wait(ctx) != nil {
			return answer, err
		}
	}
}

// attempts is the number of unanswered attempts for which the timeout leaves time.
const attempts = 3

// attempt makes a call to one member. A member without a connection to the others answers at
// once that there is no leader.
func attempt[T any](ctx context.Context, s *Store, call func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout/attempts)
	defer cancel()
	return call(clientv3.WithRequireLeader(ctx))
}

// transact runs a transaction that build completes. It may run twice.
func (s *Store) transact(ctx context.Context, build func(clientv3.Txn) clientv3.Txn) (*clientv3.TxnResponse, error) {
	return retry(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) { return build(s.client.Txn(ctx)).Commit() })
}

// compactedAttempts is how often a read starts again because its revision was compacted.
const compactedAttempts = 3

// revision is a revision of etcd at which several keys are read. Zero is the present one.
type revision int64

// getKeys reads keys, all at one revision. Absent ones are nil. At the present revision it also
// learns the clock's stamp.
func (s *Store) getKeys(ctx context.Context, keys []string, at revision) ([]*mvccpb.KeyValue, error) {
	found := make([]*mvccpb.KeyValue, 0, len(keys))
	for first := true; first || len(found) < len(keys); first = false {
		part := keys[len(found):min(len(keys), len(found)+s.maxOps-1)]
		ops := make([]clientv3.Op, 0, len(part)+1)
		for _, key := range part {
			ops = append(ops, clientv3.OpGet(key, clientv3.WithRev(int64(at))))
		}
		if at == 0 {
			ops = append(ops, clientv3.OpGet(s.keys.clock()))
		}
		answer, err := s.read(ctx, ops...)
		if err != nil {
			return nil, err
		}
		for i := range part {
			var kv *mvccpb.KeyValue
			if kvs := answer.Responses[i].GetResponseRange().Kvs; len(kvs) > 0 {
				kv = kvs[0]
			}
			found = append(found, kv)
		}
		if at == 0 {
			at = revision(answer.Header.Revision)
			if _, err := s.learnStamp(answer.Responses[len(part)].GetResponseRange().Kvs); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// read runs reads in one transaction. They are linearizable.
func (s *Store) read(ctx context.Context, ops ...clientv3.Op) (*clientv3.TxnResponse, error) {
	return s.transact(ctx, func(t clientv3.Txn) clientv3.Txn { return t.Then(ops...) })
}

// learnStamp notes and returns the value of the clock key.
func (s *Store) learnStamp(kvs []*mvccpb.KeyValue) (stamp, error) {
	if len(kvs) == 0 {
		return stamp{}, errWiped
	}
	mark, ok := decodeStamp(kvs[0].Value)
	if !ok {
		return stamp{}, fmt.Errorf("%w: the clock", errDamaged)
	}
	s.clock.learn(mark)
	return mark, nil
}

// Load returns the records that exist among refs, and the time.
func (s *Store) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return dibs.LoadResult{}, err
	}
	defer s.calls.End()
	records, err := s.records(ctx, refs, 0)
	if err != nil {
		return dibs.LoadResult{}, unavailable(err)
	}
	return dibs.LoadResult{Now: s.clock.now(), Records: records}, nil
}

// records reads the records that exist among refs, at one revision, and caches their
// footprints.
func (s *Store) records(ctx context.Context, refs []dibs.Ref, at revision) ([]dibs.Record, error) {
	keys := make([]string, len(refs))
	for i, ref := range refs {
		keys[i] = s.keys.ref(ref)
	}
	found, err := s.getKeys(ctx, keys, at)
	for range compactedAttempts {
		if at != 0 || !isCompacted(err) {
			break
		}
		found, err = s.getKeys(ctx, keys, at)
	}
	if err != nil {
		return nil, err
	}
	records := make([]dibs.Record, 0, len(refs))
	for i, kv := range found {
		if kv == nil {
			continue
		}
		record, err := decode(refs[i].Kind, refs[i].ID, kv.Value)
		if err != nil {
			return nil, err
		}
		s.footprints.put(keys[i], s.footprint(record, kv.ModRevision))
		records = append(records, record)
	}
	return records, nil
}
