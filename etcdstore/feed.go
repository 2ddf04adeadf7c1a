package etcdstore

import (
	"bytes"
	"context"
	"maps"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// The feed has one entry for each transaction with events: the ids of their names, in order. An
// entry also lists events of stale groups and of names that were deleted later. Readers skip
// these.

// namesIn returns the ids in an entry of the feed.
func namesIn(value []byte) []dibs.ID {
	ids := make([]dibs.ID, len(value)/len(dibs.ID{}))
	for i := range ids {
		ids[i] = dibs.ID(value[i*len(dibs.ID{}):])
	}
	return ids
}

// entriesAtOnce is how many entries tidyFeed reads and changes in one transaction.
const entriesAtOnce = 32

// tidyFeed removes what a transaction that deleted names has left in the feed: entries without
// events, and in other entries the ids of deleted events, so that a forgotten name leaves no
// trace. It ignores errors.
func (s *Store) tidyFeed(ctx context.Context, t *transaction) {
	entries := make(map[string]bool)
	for _, p := range t.groups {
		if p.outcome != dibs.Committed {
			continue
		}
		for _, positions := range p.histories {
			for _, at := range positions {
				if len(at) == positionSize {
					entries[at[:orderSize]] = true
				}
			}
		}
	}
	for orders := range slices.Chunk(slices.Sorted(maps.Keys(entries)), entriesAtOnce) {
		if changes, err := s.tidyEntries(ctx, orders); err == nil && len(changes) > 0 {
			_, _ = attempt(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
				return s.client.Txn(ctx).Then(changes...).Commit()
			})
		}
	}
}

// tidyEntries returns the changes that remove entries without events, and deleted events from
// the others. No event can come back: it is put only together with its entry.
func (s *Store) tidyEntries(ctx context.Context, orders []string) (changes []clientv3.Op, err error) {
	var keys []string
	for _, order := range orders {
		keys = append(keys, s.keys.feed()+order)
	}
	entries, err := s.getKeys(ctx, keys, 0)
	if err != nil {
		return nil, err
	}
	var events []string // of all entries, in one round trip
	for i, entry := range entries {
		if entry == nil {
			continue
		}
		for index, id := range namesIn(entry.Value) {
			events = append(events, s.keys.history(id)+positionIn(orders[i], index))
		}
	}
	found, err := s.getKeys(ctx, events, 0)
	if err != nil {
		return nil, err
	}
	for i, entry := range entries {
		if entry == nil {
			continue
		}
		rest, left := bytes.Clone(entry.Value), false
		for index := range namesIn(entry.Value) {
			if left = left || found[index] != nil; found[index] == nil {
				clear(rest[index*len(dibs.ID{}):][:len(dibs.ID{})])
			}
		}
		found = found[len(namesIn(entry.Value)):]
		change := clientv3.OpPut(keys[i], string(rest))
		switch {
		case !left:
			change = clientv3.OpDelete(keys[i])
		case bytes.Equal(rest, entry.Value):
			continue
		}
		unchanged := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(keys[i]), "=", entry.ModRevision)}
		changes = append(changes, clientv3.OpTxn(unchanged, []clientv3.Op{change}, nil))
	}
	return changes, nil
}
