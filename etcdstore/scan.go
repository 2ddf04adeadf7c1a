package etcdstore

import (
	"context"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// scan reads a range of keys, at most limit of them.
func (s *Store) scan(ctx context.Context, from, to string, limit int) (kvs []*mvccpb.KeyValue, at moment, more bool, err error) {
	if from >= to {
		return nil, 0, false, nil
	}
	var answer *clientv3.GetResponse
	err = s.ask(ctx, func(ctx context.Context) (err error) {
		answer, err = s.client.Get(ctx, from, clientv3.WithRange(to), clientv3.WithLimit(int64(limit)))
		return err
	})
	if err != nil {
		return nil, 0, false, err
	}
	return answer.Kvs, moment(answer.Header.Revision), answer.More, nil
}

// Due returns refs of records whose Due date is reached, earliest first.
func (s *Store) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.End()
	kvs, _, _, err := s.scan(ctx, s.keys.dueUntil(0), s.keys.dueUntil(s.clock.now()+1), limit)
	if err != nil {
		return nil, unavailable(err)
	}
	refs := make([]dibs.Ref, 0, len(kvs))
	for _, kv := range kvs {
		if ref, ok := s.keys.parseDue(string(kv.Key)); ok {
			ref.Scope = string(kv.Value)
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

// Owned returns an entity's active names and aliases in the order of their keys.
func (s *Store) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.End()
	prefix := s.keys.owned(dibs.EntityID(scope, entity))
	records, _, _, err := s.page(ctx, dibs.KindName, prefix, behind(prefix), limit, nil)
	if err != nil {
		return nil, unavailable(err)
	}
	names := make([]*dibs.NameRecord, len(records))
	for i, record := range records {
		names[i] = record.(*dibs.NameRecord) // the kind that was asked for
	}
	return names, nil
}

// List returns records of one kind in the order of their labels. Entities have
// no label, and are not listed.
func (s *Store) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.End()
	prefix := s.keys.listing(query.Kind)
	from, to := s.bounds(query)
	wanted := func(key string) bool { return selects(query, key[len(prefix):]) }
	var list []dibs.Record
	for {
		records, last, more, err := s.page(ctx, query.Kind, from, to, query.Limit-len(list), wanted)
		if err != nil {
			return nil, unavailable(err)
		}
		for _, record := range records {
			if inState(query.States, record) {
				list = append(list, record)
			}
		}
		if !more || len(list) >= query.Limit {
			return list, nil
		}
		from = last + nul
	}
}

// shortestPage is how many keys are read at least: some of them may not be wanted.
const shortestPage = 64

// page reads the records that a range of index keys leads to, both at one moment: at most
// limit of those that are wanted. It returns the last key that it has looked at, and
// whether there are more.
func (s *Store) page(ctx context.Context, kind dibs.Kind, from, to string, limit int, wanted func(key string) bool) (
	records []dibs.Record, last string, more bool, err error,
) {
	for range pastAttempts {
		kvs, at, more, err := s.scan(ctx, from, to, max(limit, shortestPage))
		if err != nil || len(kvs) == 0 {
			return nil, "", false, err
		}
		var refs []dibs.Ref
		for i, kv := range kvs {
			if last = string(kv.Key); wanted != nil && !wanted(last) {
				continue
			}
			refs = append(refs, dibs.Ref{Kind: kind, ID: dibs.ID(kv.Value)})
			if len(refs) == limit {
				more = more || i+1 < len(kvs)
				break
			}
		}
		if len(refs) == 0 {
			return nil, last, more, nil
		}
		records, err := s.records(ctx, refs, at)
		if isCompacted(err) {
			continue
		}
		return records, last, more, err
	}
	return nil, "", false, errCrowded
}

// bounds is the range of listing keys in which all lies that a query selects.
func (s *Store) bounds(query dibs.ListQuery) (from, to string) {
	prefix := s.keys.listing(query.Kind)
	from, to = prefix, behind(prefix)
	if query.Namespace != "" || query.Kind != dibs.KindName {
		if query.Kind == dibs.KindName {
			prefix += query.Namespace + nul
		}
		from, to = prefix+query.From, behind(prefix)
		if query.To != "" {
			to = prefix + query.To
		}
	}
	if after := query.After; after != nil {
		place := after.Label
		if query.Kind == dibs.KindName {
			place = after.Namespace + nul + place
		}
		from = max(from, s.keys.listing(query.Kind)+place+nul)
	}
	return from, to
}

// selects reports whether a query wants what stands at a place, as far as the place tells.
func selects(query dibs.ListQuery, place string) bool {
	label := place
	if query.Kind == dibs.KindName {
		_, label, _ = strings.Cut(place, nul)
	}
	return label >= query.From && (query.To == "" || label < query.To)
}

func inState(states []dibs.State, record dibs.Record) bool {
	if len(states) == 0 {
		return true
	}
	name, ok := record.(*dibs.NameRecord)
	return ok && slices.Contains(states, name.State)
}
