package etcdstore

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

func newBackoff() *backoff.Backoff {
	return &backoff.Backoff{First: 5 * time.Millisecond, Max: 200 * time.Millisecond}
}

// retry repeats an idempotent call until a member answers. Each attempt has a share of the
// timeout, so that a member that does not answer leaves time for the others. The first one has half
// of such a share: nearly all calls take milliseconds, or meet a member that is gone.
func retry[T any](ctx context.Context, s *Store, call func(ctx context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	share := s.cfg.Timeout / attempts
	for wait, within := newBackoff(), share/2; ; within = share {
		answer, err = attemptWithin(ctx, within, call)
		if err == nil || ctx.Err() != nil || !isTransient(err) || wait.Wait(ctx) != nil {
			return answer, err
		}
	}
}

// attempts is the number of unanswered attempts for which the timeout leaves time.
const attempts = 3

// attempt makes a call to one member.
func attempt[T any](ctx context.Context, s *Store, call func(ctx context.Context) (T, error)) (T, error) {
	return attemptWithin(ctx, s.cfg.Timeout/attempts, call)
}

// attemptWithin makes a call to one member. A member without a connection to the others answers at
// once that there is no leader.
func attemptWithin[T any](ctx context.Context, within time.Duration, call func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return call(clientv3.WithRequireLeader(ctx))
}

// transact runs a transaction that build completes. It may run twice.
func (s *Store) transact(ctx context.Context, build func(clientv3.Txn) clientv3.Txn) (*clientv3.TxnResponse, error) {
	return retry(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) { return build(s.client.Txn(ctx)).Commit() })
}

// read runs reads in one transaction. They are linearizable.
func (s *Store) read(ctx context.Context, ops ...clientv3.Op) (*clientv3.TxnResponse, error) {
	return s.transact(ctx, func(t clientv3.Txn) clientv3.Txn { return t.Then(ops...) })
}

// getKeys reads keys, all at one revision of etcd; 0 is the present one. Absent ones are nil. At
// the present revision it also learns the clock's stamp.
func (s *Store) getKeys(ctx context.Context, keys []string, at int64) ([]*mvccpb.KeyValue, error) {
	found := make([]*mvccpb.KeyValue, 0, len(keys))
	for first := true; first || len(found) < len(keys); first = false {
		part := keys[len(found):min(len(keys), len(found)+s.maxOps-1)]
		ops := make([]clientv3.Op, 0, len(part)+1)
		for _, key := range part {
			ops = append(ops, clientv3.OpGet(key, clientv3.WithRev(at)))
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
			at = answer.Header.Revision
			if err := s.learnStamp(answer.Responses[len(part)]); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// scan reads a range of keys at the present revision, and learns the clock's stamp. It reads at
// most limit keys; 0 means all.
func (s *Store) scan(ctx context.Context, from, to string, limit int, opts ...clientv3.OpOption) (
	found *etcdserverpb.RangeResponse, at int64, err error,
) {
	if from >= to {
		return new(etcdserverpb.RangeResponse), 0, nil
	}
	opts = append(opts, clientv3.WithRange(to), clientv3.WithLimit(int64(limit)))
	answer, err := s.read(ctx, clientv3.OpGet(s.keys.clock()), clientv3.OpGet(from, opts...))
	if err != nil {
		return nil, 0, err
	}
	return answer.Responses[1].GetResponseRange(), answer.Header.Revision, s.learnStamp(answer.Responses[0])
}

// learnStamp notes what a read of the clock returned.
func (s *Store) learnStamp(clock *etcdserverpb.ResponseOp) error {
	kvs := clock.GetResponseRange().Kvs
	if len(kvs) == 0 {
		return errWiped
	}
	mark, ok := decodeStamp(kvs[0].Value)
	if !ok {
		return fmt.Errorf("%w: the clock", errDamaged)
	}
	s.clock.learn(mark)
	return nil
}

// Load returns the records that exist among refs, and the time.
func (s *Store) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	return during(ctx, s, func() (dibs.LoadResult, error) {
		records, err := s.records(ctx, refs, 0)
		return dibs.LoadResult{Now: s.clock.now(), Records: records}, err
	})
}

// compactedAttempts is how often a read starts again because its revision was compacted.
const compactedAttempts = 3

// records reads the records that exist among refs, at one revision, and caches their
// footprints.
func (s *Store) records(ctx context.Context, refs []dibs.Ref, at int64) ([]dibs.Record, error) {
	keys := make([]string, len(refs))
	for i, ref := range refs {
		keys[i] = s.keys.ref(ref)
	}
	found, err := s.getKeys(ctx, keys, at)
	for again := 0; again < compactedAttempts && at == 0 && isCompacted(err); again++ {
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
		record, latest, err := decode(refs[i].Kind, refs[i].ID, kv.Value)
		if err != nil {
			return nil, err
		}
		s.footprints.put(keys[i], s.footprint(record, kv.ModRevision, latest))
		records = append(records, record)
	}
	return records, nil
}
