package etcdstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// ask puts a question that changes nothing, or that may be put twice. A member that does
// not answer must not keep others from it: each gets a share of the time.
func (s *Store) ask(ctx context.Context, question func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := s.once(ctx, question)
		if err == nil || ctx.Err() != nil || !mayPass(err) {
			return err
		}
		if pause(ctx, attempt); ctx.Err() != nil {
			return err
		}
	}
}

// pause waits before another attempt, the longer the more there were, or until the context
// ends.
func pause(ctx context.Context, attempts int) {
	wait := min(5*time.Millisecond<<min(attempts, 10), 200*time.Millisecond)
	select {
	case <-ctx.Done():
	case <-time.After(wait/2 + rand.N(wait)):
	}
}

// once puts a question to one member. A member that has lost the others says so at once.
func (s *Store) once(ctx context.Context, question func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout/membersAsked)
	defer cancel()
	return question(clientv3.WithRequireLeader(ctx))
}

// membersAsked is how many members, of which each but the last fails to answer, a call has
// time for.
const membersAsked = 3

// pastAttempts is how often a read starts again because its moment was compacted away.
const pastAttempts = 3

// moment is a revision of etcd at which several keys are read. Zero is now, whatever that
// turns out to be.
type moment int64

// values reads keys, all at one moment. Those that are absent are nil. If the moment is now,
// it learns the clock's stamp with them.
func (s *Store) values(ctx context.Context, names []string, at moment) ([]*mvccpb.KeyValue, error) {
	found := make([]*mvccpb.KeyValue, 0, len(names))
	for first := true; first || len(found) < len(names); first = false {
		part := names[len(found):min(len(names), len(found)+s.limits.ops-1)]
		ops := make([]clientv3.Op, 0, len(part)+1)
		for _, name := range part {
			ops = append(ops, clientv3.OpGet(name, clientv3.WithRev(int64(at))))
		}
		if at == 0 {
			ops = append(ops, clientv3.OpGet(s.keys.clock()))
		}
		answer, err := s.get(ctx, ops)
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
			at = moment(answer.Header.Revision)
			if err := s.learnFrom(answer.Responses[len(part)].GetResponseRange().Kvs); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// get runs reads at one moment, of which a member is sure that it is now.
func (s *Store) get(ctx context.Context, ops []clientv3.Op) (answer *clientv3.TxnResponse, err error) {
	err = s.ask(ctx, func(ctx context.Context) (err error) {
		answer, err = s.client.Txn(ctx).Then(ops...).Commit()
		return err
	})
	return answer, err
}

// learnFrom takes note of what the clock key says.
func (s *Store) learnFrom(kvs []*mvccpb.KeyValue) error {
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
func (s *Store) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return dibs.Snapshots{}, err
	}
	defer s.calls.End()
	records, err := s.records(ctx, refs, 0)
	if err != nil {
		return dibs.Snapshots{}, unavailable(err)
	}
	return dibs.Snapshots{Now: s.clock.now(), Records: records}, nil
}

// records reads the records that exist among refs, at one moment. It remembers what a
// commit that changes them has to know.
func (s *Store) records(ctx context.Context, refs []dibs.Ref, at moment) ([]dibs.Record, error) {
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = s.keys.ref(ref)
	}
	found, err := s.values(ctx, names, at)
	for range pastAttempts {
		if at != 0 || !isCompacted(err) {
			break
		}
		found, err = s.values(ctx, names, at)
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
		s.known.put(names[i], s.footprint(record, kv.ModRevision))
		records = append(records, record)
	}
	return records, nil
}
