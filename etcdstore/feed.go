package etcdstore

import (
	"context"

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

// maxEntriesSwept is of how many entries a commit that deletes names looks whether anything
// is left.
const maxEntriesSwept = 32

// sweepFeed removes entries of the feed of which nothing is left after a transaction that
// has deleted names. It is only about room: what it cannot do is left.
func (s *Store) sweepFeed(ctx context.Context, t *transaction) {
	entries := make(map[string]bool)
	for _, d := range t.drafts {
		if d.outcome != dibs.Committed {
			continue
		}
		for _, positions := range d.stories {
			for _, p := range positions {
				if len(p) == positionSize && len(entries) < maxEntriesSwept {
					entries[p[:orderSize]] = true
				}
			}
		}
	}
	if len(entries) == 0 {
		return
	}
	if empty, err := s.emptyEntries(ctx, entries); err == nil && len(empty) > 0 {
		_ = s.once(ctx, func(ctx context.Context) error {
			_, err := s.client.Txn(ctx).Then(empty...).Commit()
			return err
		})
	}
}

// emptyEntries returns how to remove those of some entries of which no event is left. None
// can come back: an event is only ever put together with its entry.
func (s *Store) emptyEntries(ctx context.Context, orders map[string]bool) (removals []clientv3.Op, err error) {
	var names []string
	for order := range orders {
		names = append(names, s.keys.feed()+order)
	}
	entries, err := s.values(ctx, names, 0)
	if err != nil {
		return nil, err
	}
	for i, entry := range entries {
		if entry == nil {
			continue
		}
		order := names[i][len(s.keys.feed()):]
		var events []string
		for index, id := range namesIn(entry.Value) {
			events = append(events, s.keys.story(id)+positionIn(order, index))
		}
		found, err := s.values(ctx, events, 0)
		if err != nil {
			return nil, err
		}
		left := false
		for _, kv := range found {
			left = left || kv != nil
		}
		if !left {
			removals = append(removals, clientv3.OpDelete(names[i]))
		}
	}
	return removals, nil
}
