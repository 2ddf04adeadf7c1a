package etcdstore

import (
	"context"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// scan reads a range of keys, at most limit of them.
func (s *Store) scan(ctx context.Context, from, to string, limit int) (kvs []*mvccpb.KeyValue, at revision, more bool, err error) {
	if from >= to {
		return nil, 0, false, nil
	}
	answer, err := retry(ctx, s, func(ctx context.Context) (*clientv3.GetResponse, error) {
		return s.client.Get(ctx, from, clientv3.WithRange(to), clientv3.WithLimit(int64(limit)))
	})
	if err != nil {
		return nil, 0, false, err
	}
	return answer.Kvs, revision(answer.Header.Revision), answer.More, nil
}

// Due returns refs of records whose Due date is reached, earliest first.
func (s *Store) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.End()
	kvs, _, _, err := s.scan(ctx, s.keys.dueFrom(0), s.keys.dueFrom(s.clock.now()+1), limit)
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
	records, _, _, err := s.page(ctx, dibs.KindName, prefix, prefixEnd(prefix), limit, nil)
	if err != nil {
		return nil, unavailable(err)
	}
	names := make([]*dibs.NameRecord, len(records))
	for i, record := range records {
		names[i] = record.(*dibs.NameRecord) // the kind that was asked for
	}
	return names, nil
}

// List returns records of one kind in the order of their labels. Entities have none, and are
// not listed.
func (s *Store) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.End()
	prefix := s.keys.listing(query.Kind)
	from, to := s.bounds(query)
	wanted := func(key string) bool { return inBounds(query, key[len(prefix):]) }
	var list []dibs.Record
	for {
		records, last, more, err := s.page(ctx, query.Kind, from, to, query.Limit-len(list), wanted)
		if err != nil {
			return nil, unavailable(err)
		}
		for _, r := range records {
			if record.InStates(query.States, r) {
				list = append(list, r)
			}
		}
		if !more || len(list) >= query.Limit {
			return list, nil
		}
		from = last + nul
	}
}

// Count reads all names: etcd cannot add to a number.
func (s *Store) Count(ctx context.Context, soon dibs.Instant) (stats dibs.Stats, err error) {
	counts := make(map[dibs.NameCount]int)
	query := dibs.ListQuery{Kind: dibs.KindName, Limit: countPage}
	for {
		page, err := s.List(ctx, query)
		if err != nil {
			return dibs.Stats{}, err
		}
		for _, r := range page {
			n := r.(*dibs.NameRecord) // the kind that was asked for
			record.Recount(counts, []dibs.Write{{Record: n, Was: dibs.Free}})
			if record.EndsSoon(n, soon) {
				stats.EndingSoon++
			}
		}
		if len(page) < countPage {
			stats.Names = record.Counts(counts)
			return stats, nil
		}
		after := record.Position(page[len(page)-1])
		query.After = &after
	}
}

// countPage is how many names Count reads at once.
const countPage = 1000

// minPage is the least number of keys to read at once, since a filter may drop some.
const minPage = 64

// page reads the records that a range of index keys leads to, both at one revision: at most
// limit of those that are wanted. It returns the last key that it has read, and whether there
// are more.
func (s *Store) page(ctx context.Context, kind dibs.Kind, from, to string, limit int, wanted func(key string) bool) (
	records []dibs.Record, last string, more bool, err error,
) {
	for range compactedAttempts {
		kvs, at, more, err := s.scan(ctx, from, to, max(limit, minPage))
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
	return nil, "", false, errContention
}

// bounds returns the range of listing keys that contains all that a query selects.
func (s *Store) bounds(query dibs.ListQuery) (from, to string) {
	listing := s.keys.listing(query.Kind)
	from, to = listing, prefixEnd(listing)
	if query.Namespace != "" || query.Kind != dibs.KindName {
		prefix := listing + listLabel(query.Kind, dibs.ListPosition{Namespace: query.Namespace})
		from, to = prefix+query.From, prefixEnd(prefix)
		if query.To != "" {
			to = prefix + query.To
		}
	}
	if query.After != nil {
		from = max(from, listing+listLabel(query.Kind, *query.After)+nul)
	}
	return from, to
}

// listLabel returns the part of a listing key behind its prefix; see [keys].
func listLabel(kind dibs.Kind, at dibs.ListPosition) string {
	if kind == dibs.KindName {
		return at.Namespace + nul + at.Label
	}
	return at.Label
}

// inBounds reports whether a listLabel is within From and To of a query.
func inBounds(query dibs.ListQuery, label string) bool {
	if query.Kind == dibs.KindName {
		_, label, _ = strings.Cut(label, nul)
	}
	return label >= query.From && (query.To == "" || label < query.To)
}
