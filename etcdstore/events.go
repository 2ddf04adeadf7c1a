package etcdstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// Events returns events behind a cursor, which is the position of an event in hexadecimal.
// Positions rise as etcd applies transactions, so later commits come behind all that was ever
// read.
func (s *Store) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	return during(ctx, s, func() ([]dibs.Event, error) {
		after, err := s.parseCursor(ctx, query.After)
		if err != nil {
			return nil, err
		}
		var page []dibs.Event
		for more := true; more && len(page) < query.Limit; {
			var kvs []*mvccpb.KeyValue
			if query.Name.IsZero() {
				kvs, after, more, err = s.feedPage(ctx, after, query.Limit-len(page))
			} else {
				kvs, after, more, err = s.historyPage(ctx, query.Name, after, query.Limit-len(page))
			}
			if err != nil {
				return nil, err
			}
			for _, kv := range kvs {
				if kv == nil { // it was never committed, or was deleted with its name
					continue
				}
				name, position := s.keys.parseHistory(string(kv.Key))
				event, err := decodeEvent(name, kv.Value)
				if err != nil {
					return nil, err
				}
				event.Cursor = cursorAt(position)
				page = append(page, event)
			}
		}
		return page, nil
	})
}

// Latest returns the last position that the stored order allows: later commits have a higher
// order.
func (s *Store) Latest(ctx context.Context) (dibs.Cursor, error) {
	return during(ctx, s, func() (dibs.Cursor, error) {
		_, err := s.getKeys(ctx, nil, 0) // learns the clock
		return cursorAt(s.lastPosition()), err
	})
}

// lastPosition returns the last position that the stored order allows, as far as it is known.
func (s *Store) lastPosition() string { return position(s.clock.lastOrder(), maxEvents-1) }

func cursorAt(position string) dibs.Cursor { return dibs.Cursor(hex.EncodeToString([]byte(position))) }

// parseCursor returns the position of a cursor. It accepts only the spelling that cursorAt
// returns, and no position behind the last one.
func (s *Store) parseCursor(ctx context.Context, cursor dibs.Cursor) (string, error) {
	raw, err := hex.DecodeString(string(cursor))
	at := string(raw)
	if err != nil || cursorAt(at) != cursor || (cursor != "" && len(at) != positionSize) {
		return "", dibs.ErrBadCursor
	}
	if at > s.lastPosition() { // other servers may have committed since
		if _, err := s.getKeys(ctx, nil, 0); err != nil {
			return "", err
		}
	}
	if at > s.lastPosition() {
		return "", dibs.ErrBadCursor
	}
	return at, nil
}

// maxTransactions is how many transactions a page of the feed has at most. Each has at least
// one event.
const maxTransactions = 64

// feedPage reads the next events of all names: at most limit, in order, without a gap. Absent
// ones are nil. It returns the position of the last one.
func (s *Store) feedPage(ctx context.Context, after string, limit int) (events []*mvccpb.KeyValue, last string, more bool, err error) {
	prefix := s.keys.feed()
	from := prefix + after[:min(len(after), orderSize)] // there may be more events of the same transaction
	found, at, err := s.scan(ctx, from, prefixEnd(prefix), min(limit+1, maxTransactions))
	if err != nil {
		return nil, "", false, err
	}
	last, more = after, found.More
	var keys []string
	for _, kv := range found.Kvs {
		for index, id := range namesIn(kv.Value) {
			p := positionIn(string(kv.Key[len(prefix):]), index)
			if p <= after {
				continue
			}
			if len(keys) == limit {
				more = true
				break
			}
			last, keys = p, append(keys, s.keys.history(id)+p)
		}
	}
	events, err = s.getKeys(ctx, keys, at)
	if isCompacted(err) {
		events, err = s.getKeys(ctx, keys, 0) // later an event can only be deleted or redacted
	}
	return events, last, more, err
}

// historyPage reads events of one name before a position, newest first: at most limit. An empty
// position is the end. It returns the position of the last one.
func (s *Store) historyPage(ctx context.Context, name dibs.ID, before string, limit int) (
	events []*mvccpb.KeyValue, last string, more bool, err error,
) {
	prefix := s.keys.history(name)
	to := prefixEnd(prefix)
	if before != "" {
		to = prefix + before
	}
	found, _, err := s.scan(ctx, prefix, to, limit)
	if err != nil || len(found.Kvs) == 0 {
		return nil, "", false, err
	}
	events = found.Kvs
	if found.More {
		first, end := orderIn(events[0].Key[len(prefix):]), s.clock.lastOrder()+1
		if before != "" {
			end = orderIn([]byte(before)) + 1
		}
		if events, err = s.lastOf(ctx, prefix, to, first, end, limit); err != nil {
			return nil, "", false, err
		}
	}
	if len(events) == 0 { // they were deleted meanwhile, with their name
		return nil, before, found.More, nil
	}
	slices.Reverse(events)
	return events, string(events[len(events)-1].Key[len(prefix):]), found.More, nil
}

// firstWidth is how many orders before the end are counted first: about a second.
const firstWidth = 1 << 20

// lastOf reads the last keys of a range that has more than limit: at most limit, and at least
// one. Their orders are from first up to, but not including, end.
//
// etcd reads forwards only: for the last keys of a range it fetches and sorts all keys. So lastOf
// searches the beginning of the page by counting, which etcd does without fetching. It multiplies
// the width until there are too many keys, and then bisects, so that it counts little more than
// it reads.
func (s *Store) lastOf(ctx context.Context, prefix, to string, first, end uint64, limit int) ([]*mvccpb.KeyValue, error) {
	fits, over := uint64(0), end-first    // widths: the widest that fits on the page, the narrowest that does not
	width, found := uint64(firstWidth), 0 // found is how many keys there are in fits
	for over-fits > 1 && 2*found < limit {
		if width <= fits || width >= over {
			width = fits + (over-fits)/2
		}
		counted, _, err := s.scan(ctx, prefix+number(end-width), to, 0, clientv3.WithCountOnly())
		if err != nil {
			return nil, err
		}
		if counted.Count > int64(limit) {
			over = width
		} else {
			fits, found, width = width, int(counted.Count), width*16
		}
	}
	if found == 0 {
		fits = over // one transaction has more events than the page has room for
	}
	all, _, err := s.scan(ctx, prefix+number(end-fits), to, 0)
	if err != nil {
		return nil, err
	}
	return all.Kvs[max(0, len(all.Kvs)-limit):], nil
}

// position returns the position of an event in the feed: the order of its commit, and its
// index among the events of the commit.
func position(order uint64, index int) string { return positionIn(number(order), index) }

func positionIn(order string, index int) string {
	return string(binary.BigEndian.AppendUint16([]byte(order), uint16(index)))
}

// orderIn returns the order of a position.
func orderIn(position []byte) uint64 { return binary.BigEndian.Uint64(position) }

const (
	orderSize    = 8
	positionSize = orderSize + 2
	maxEvents    = 1 << 16 // in a transaction: an index has two bytes
)

// namesIn returns the ids in an entry of the feed. The feed has one entry for each transaction
// with events: the ids of their names, in order. An entry also lists events of stale groups and
// of names that were deleted later. Readers skip these.
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
	var orders []string
	for _, p := range t.groups {
		if p.outcome == dibs.Committed {
			orders = append(orders, p.deletedOrders...)
		}
	}
	slices.Sort(orders)
	for some := range slices.Chunk(slices.Compact(orders), entriesAtOnce) {
		if changes, err := s.tidyEntries(ctx, some); err == nil && len(changes) > 0 {
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
		for index, id := range namesIn(entry.GetValue()) {
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
