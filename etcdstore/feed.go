package etcdstore

import (
	"bytes"
	"context"
	"maps"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// The feed has one entry for each transaction that may have told of something: the ids of
// the names, in order, as the groups list their events. Some of those events are not there:
// their group was stale, or their name is deleted. Readers pass over them.

// namesIn returns the ids in an entry of the feed.
func namesIn(value []byte) []dibs.ID {
	ids := make([]dibs.ID, len(value)/len(dibs.ID{}))
	for i := range ids {
		ids[i] = dibs.ID(value[i*len(dibs.ID{}):])
	}
	return ids
}

// entriesAtOnce is how many entries a commit that deletes names looks at, and changes, at
// once.
const entriesAtOnce = 32

// sweepFeed removes entries of the feed of which nothing is left after a transaction that
// has deleted names, and takes the ids that nothing is left of out of others: who was
// forgotten is not to be found here either. What it cannot do is left.
func (s *Store) sweepFeed(ctx context.Context, t *transaction) {
	entries := make(map[string]bool)
	for _, d := range t.drafts {
		if d.outcome != dibs.Committed {
			continue
		}
		for _, positions := range d.stories {
			for _, p := range positions {
				if len(p) == positionSize {
					entries[p[:orderSize]] = true
				}
			}
		}
	}
	for orders := range slices.Chunk(slices.Sorted(maps.Keys(entries)), entriesAtOnce) {
		if changes, err := s.tidyEntries(ctx, orders); err == nil && len(changes) > 0 {
			_ = s.once(ctx, func(ctx context.Context) error {
				_, err := s.client.Txn(ctx).Then(changes...).Commit()
				return err
			})
		}
	}
}

// tidyEntries returns how to remove those of some entries of which no event is left, and
// how to leave out of the others what is gone. No event can come back: it is only ever put
// together with its entry.
func (s *Store) tidyEntries(ctx context.Context, orders []string) (changes []clientv3.Op, err error) {
	var names []string
	for _, order := range orders {
		names = append(names, s.keys.feed()+order)
	}
	entries, err := s.values(ctx, names, 0)
	if err != nil {
		return nil, err
	}
	var events []string // of all entries: asked for one by one each would cost a round trip
	for i, entry := range entries {
		if entry == nil {
			continue
		}
		for index, id := range namesIn(entry.Value) {
			events = append(events, s.keys.story(id)+positionIn(orders[i], index))
		}
	}
	found, err := s.values(ctx, events, 0)
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
		change := clientv3.OpPut(names[i], string(rest))
		switch {
		case !left:
			change = clientv3.OpDelete(names[i])
		case bytes.Equal(rest, entry.Value):
			continue
		}
		unchanged := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(names[i]), "=", entry.ModRevision)}
		changes = append(changes, clientv3.OpTxn(unchanged, []clientv3.Op{change}, nil))
	}
	return changes, nil
}
