package etcdstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// states are all states of names. Each has a listing of its own.
var states = []dibs.State{dibs.Free, dibs.Held, dibs.Suspect, dibs.Active, dibs.Alias, dibs.Quarantined}

// nameLabel returns the label of a name; see [keys].
func nameLabel(namespace, canonical string) string { return namespace + nul + canonical }

// Owned returns an entity's active names and aliases in the order of their keys.
func (s *Store) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	return during(ctx, s, func() ([]*dibs.NameRecord, error) {
		prefix := s.keys.owned(dibs.EntityID(scope, entity))
		records, err := s.page(ctx, listing{dibs.KindName, []string{prefix}}, "", "", limit)
		names := make([]*dibs.NameRecord, len(records))
		for i, r := range records {
			names[i] = r.(*dibs.NameRecord) // the kind that was asked for
		}
		return names, err
	})
}

// List returns records of one kind in the order of their labels. Entities have none, and are
// not listed.
func (s *Store) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	return during(ctx, s, func() ([]dibs.Record, error) {
		switch {
		case query.DueBefore != 0:
			return s.listEnding(ctx, query)
		case query.Kind != dibs.KindName:
			after := ""
			if query.After != nil {
				after = query.After.Label + nul
			}
			return s.page(ctx, listing{query.Kind, []string{s.keys.documents(query.Kind)}}, max(query.From, after), query.To, query.Limit)
		case query.Namespace == "" && (query.From != "" || query.To != ""):
			return s.listEach(ctx, query)
		default:
			return s.listNames(ctx, query)
		}
	})
}

// listing is a list in parts, each under a prefix and in the order of labels.
type listing struct {
	kind  dibs.Kind
	parts []string
}

// namesIn returns the listing of the names in some states; none means all.
func (s *Store) namesIn(some []dibs.State) listing {
	if len(some) == 0 {
		some = states
	}
	l := listing{kind: dibs.KindName}
	for _, state := range some {
		l.parts = append(l.parts, s.keys.names(state))
	}
	slices.Sort(l.parts)
	l.parts = slices.Compact(l.parts)
	return l
}

// listNames lists names of one namespace, or all names.
func (s *Store) listNames(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	var from, to string
	if query.Namespace != "" {
		prefix := nameLabel(query.Namespace, "")
		from, to = prefix+query.From, prefixEnd(prefix)
		if query.To != "" {
			to = prefix + query.To
		}
	}
	if query.After != nil {
		from = max(from, nameLabel(query.After.Namespace, query.After.Label)+nul)
	}
	return s.page(ctx, s.namesIn(query.States), from, to, query.Limit)
}

// listEach lists the names within bounds of one namespace after the other.
func (s *Store) listEach(ctx context.Context, query dibs.ListQuery) (list []dibs.Record, err error) {
	l := s.namesIn(query.States)
	namespace := ""
	if query.After != nil {
		namespace = query.After.Namespace
	}
	for len(list) < query.Limit {
		if namespace, err = s.nextNamespace(ctx, l, namespace); err != nil || namespace == "" {
			return list, err
		}
		in := query
		in.Namespace, in.Limit = namespace, query.Limit-len(list)
		records, err := s.listNames(ctx, in)
		if err != nil {
			return nil, err
		}
		list = append(list, records...)
		namespace += "\x01" // no namespace has a control character
	}
	return list, nil
}

// nextNamespace returns the first namespace of a listing that is not before another, or "".
func (s *Store) nextNamespace(ctx context.Context, l listing, from string) (string, error) {
	found, _, err := s.labels(ctx, l, from, "", 1, 0)
	if err != nil || len(found) == 0 {
		return "", err
	}
	namespace, _, _ := strings.Cut(found[0].label, nul)
	return namespace, nil
}

// page reads the records of a listing from a label up to, but not including, another; empty
// means open. It reads at most limit, all at one revision.
func (s *Store) page(ctx context.Context, l listing, from, to string, limit int) ([]dibs.Record, error) {
	for range compactedAttempts {
		found, at, err := s.labels(ctx, l, from, to, limit, 0)
		if err != nil || len(found) == 0 {
			return nil, err
		}
		refs := make([]dibs.Ref, len(found))
		for i, f := range found {
			refs[i] = dibs.Ref{Kind: l.kind, ID: f.id}
		}
		records, err := s.records(ctx, refs, at)
		if !isCompacted(err) {
			return records, err
		}
	}
	return nil, errContention
}

// listed is an entry of a listing.
type listed struct {
	label string
	id    dibs.ID
}

// labels reads the entries of a listing within bounds, in order: at most limit, all at one
// revision, which it returns.
func (s *Store) labels(ctx context.Context, l listing, from, to string, limit int, at int64) (all []listed, revision int64, err error) {
	ops := make([]clientv3.Op, len(l.parts))
	for i, part := range l.parts {
		ops[i] = clientv3.OpGet(part+from, within(part, to), clientv3.WithLimit(int64(limit)), clientv3.WithRev(at))
	}
	if to != "" && from >= to {
		return nil, 0, nil
	}
	answer, err := s.read(ctx, ops...)
	if err != nil {
		return nil, 0, err
	}
	for i, part := range l.parts {
		for _, kv := range answer.Responses[i].GetResponseRange().Kvs {
			all = append(all, entryOf(kv, part))
		}
	}
	slices.SortFunc(all, func(a, b listed) int { return strings.Compare(a.label, b.label) })
	return all[:min(len(all), limit)], answer.Header.Revision, nil
}

func entryOf(kv *mvccpb.KeyValue, part string) listed {
	entry := listed{label: string(kv.Key[len(part):])}
	copy(entry.id[:], kv.Value)
	return entry
}

// within ends a range of a listing's part before a label, or with the part.
func within(part, to string) clientv3.OpOption {
	if to == "" {
		return clientv3.WithRange(prefixEnd(part))
	}
	return clientv3.WithRange(part + to)
}

// Count counts names without reading them, one namespace after the other: etcd counts the keys
// of each listing. It reads only those that end soon.
func (s *Store) Count(ctx context.Context, soon dibs.Instant) (dibs.Stats, error) {
	return during(ctx, s, func() (stats dibs.Stats, err error) {
		for range compactedAttempts {
			if stats, err = s.count(ctx, soon); !isCompacted(err) {
				break
			}
		}
		return stats, err
	})
}

func (s *Store) count(ctx context.Context, soon dibs.Instant) (stats dibs.Stats, err error) {
	names, at, err := s.countNames(ctx, 0)
	if err != nil {
		return dibs.Stats{}, err
	}
	stats.Names = names
	stats.EndingSoon, err = s.endingSoon(ctx, soon, at)
	return stats, err
}

// countNames counts the names of all namespaces at one revision, 0 for the present one, and returns it.
func (s *Store) countNames(ctx context.Context, at int64) (counts []dibs.NameCount, revision int64, err error) {
	found, revision, err := s.labels(ctx, s.namesIn(states[1:]), "", "", 1, at)
	if at != 0 {
		revision = at
	}
	for err == nil && len(found) > 0 {
		namespace, _, _ := strings.Cut(found[0].label, nul)
		var more []dibs.NameCount
		more, found, err = s.countNamespace(ctx, namespace, revision)
		counts = append(counts, more...)
	}
	return counts, revision, err
}

// Counts returns how many names the listings have.
func (v *view) Counts(ctx context.Context) ([]dibs.NameCount, error) {
	return viewing(ctx, v, func() ([]dibs.NameCount, error) {
		counts, _, err := v.store.countNames(ctx, v.at)
		return counts, err
	})
}

// countNamespace counts the names of a namespace, and finds the first name behind it.
func (s *Store) countNamespace(ctx context.Context, namespace string, at int64) (counts []dibs.NameCount, next []listed, err error) {
	prefix := nameLabel(namespace, "")
	var ops []clientv3.Op
	for _, state := range states[1:] { // free names do not count
		part := s.keys.names(state)
		ops = append(ops, clientv3.OpGet(part+prefix, clientv3.WithPrefix(), clientv3.WithCountOnly(), clientv3.WithRev(at)),
			clientv3.OpGet(part+prefixEnd(prefix), within(part, ""), clientv3.WithLimit(1), clientv3.WithRev(at)))
	}
	answer, err := s.read(ctx, ops...)
	if err != nil {
		return nil, nil, err
	}
	for i, state := range states[1:] {
		if n := answer.Responses[2*i].GetResponseRange().Count; n > 0 {
			counts = append(counts, dibs.NameCount{Namespace: namespace, State: state, Count: int(n)})
		}
		for _, kv := range answer.Responses[2*i+1].GetResponseRange().Kvs {
			next = append(next, entryOf(kv, s.keys.names(state)))
		}
	}
	slices.SortFunc(next, func(a, b listed) int { return strings.Compare(a.label, b.label) })
	return counts, next, nil
}

// endingSoon counts the held names that are due at a date or before, at a revision of etcd.
func (s *Store) endingSoon(ctx context.Context, soon dibs.Instant, at int64) (n int, err error) {
	counted := make(map[dibs.ID]bool)
	for from, more := uint64(0), true; more; {
		page, err := s.duePage(ctx, from, soon, at)
		if err != nil {
			return 0, err
		}
		for some := range slices.Chunk(page.dates, s.maxOps) {
			refs := make([]dibs.Ref, len(some))
			for i, d := range some {
				refs[i] = d.ref
			}
			records, err := s.records(ctx, refs, at)
			if err != nil {
				return 0, err
			}
			for _, r := range records {
				if name, ok := r.(*dibs.NameRecord); ok && record.EndsSoon(name, soon) && !counted[name.ID] {
					counted[name.ID] = true
					n++
				}
			}
		}
		from, more = page.next, page.more
	}
	return n, nil
}

// listEnding returns the held names that are due before a date, earliest first.
func (s *Store) listEnding(ctx context.Context, query dibs.ListQuery) (list []dibs.Record, err error) {
	soon := query.DueBefore - 1
	seen := make(map[dibs.ID]bool)
	for from, more := uint64(0), true; more && len(list) < query.Limit; {
		page, err := s.duePage(ctx, from, soon, 0)
		if err != nil {
			return nil, err
		}
		var found []dibs.Record // of these periods, which come before all others
		for some := range slices.Chunk(page.dates, s.maxOps) {
			refs := make([]dibs.Ref, len(some))
			for i, d := range some {
				refs[i] = d.ref
			}
			records, err := s.records(ctx, refs, 0)
			if err != nil {
				return nil, err
			}
			for _, r := range records {
				name, ok := r.(*dibs.NameRecord)
				// A name that was extended has another date in a later period, too.
				if ok && record.EndsSoon(name, soon) && periodOf(name.Due) < page.next && !seen[name.ID] &&
					(query.Namespace == "" || query.Namespace == name.Namespace) {
					seen[name.ID] = true
					found = append(found, name)
				}
			}
		}
		slices.SortStableFunc(found, func(a, b dibs.Record) int { return cmp.Compare(record.Due(a), record.Due(b)) })
		list = append(list, found...)
		from, more = page.next, page.more
	}
	return list[:min(query.Limit, len(list))], nil
}
