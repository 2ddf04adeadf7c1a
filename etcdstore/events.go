package etcdstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
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
			var events []*dibs.Event
			if query.Name.IsZero() {
				events, after, more, err = s.feedPage(ctx, after, query.Limit-len(page))
			} else {
				events, err = s.historyPage(ctx, query.Name, after, query.Limit)
				more = false
			}
			if err != nil {
				return nil, err
			}
			for _, event := range events {
				if event != nil { // otherwise it was never committed, or was deleted with its name
					page = append(page, *event)
				}
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

// Seek returns the cursor just before a date.
func (s *Store) Seek(ctx context.Context, at dibs.Instant) (dibs.Cursor, error) {
	return bisect.Feed(ctx, s, at, func(from, to dibs.Cursor) dibs.Cursor {
		middle := bisect.Middle(orderOf(from), orderOf(to))
		if middle == orderOf(from) {
			return from
		}
		return cursorAt(position(middle, maxEvents-1))
	})
}

// orderOf returns the order in a cursor of this engine; 0 is the beginning.
func orderOf(cursor dibs.Cursor) uint64 {
	at, err := hex.DecodeString(string(cursor))
	if err != nil || len(at) != positionSize {
		return 0
	}
	return binary.BigEndian.Uint64(at)
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
	if err := s.checkStart(ctx, at); err != nil {
		return "", err
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
func (s *Store) feedPage(ctx context.Context, after string, limit int) (events []*dibs.Event, last string, more bool, err error) {
	found, at, err := s.scan(ctx, s.feedFrom(after), prefixEnd(s.keys.feed()), min(limit+1, maxTransactions))
	if err != nil {
		return nil, "", false, err
	}
	places, last, more := s.placesIn(found, after, limit)
	events, err = s.findEvents(ctx, places, at)
	if isCompacted(err) {
		events, err = s.findEvents(ctx, places, 0) // later an event can only be deleted or redacted
	}
	return events, last, more, err
}

// feedFrom returns the first key of the feed that may have events after a position: there may be
// more of the same transaction.
func (s *Store) feedFrom(after string) string {
	return s.keys.feed() + after[:min(len(after), orderSize)]
}

// placesIn returns where the events after a position are: at most limit, and whether there are more.
func (s *Store) placesIn(found *etcdserverpb.RangeResponse, after string, limit int) (places []place, last string, more bool) {
	prefix := s.keys.feed()
	last, more = after, found.More
	for _, kv := range found.Kvs {
		for index, id := range idsIn(kv.Value) {
			p := positionIn(string(kv.Key[len(prefix):]), index)
			if p <= after {
				continue
			}
			if len(places) == limit {
				more = true
				break
			}
			last, places = p, append(places, place{id, p})
		}
	}
	return places, last, more
}

// place is where an event is: its name, and its position in the feed.
type place struct {
	name     dibs.ID
	position string
}

// findEvents reads events at a revision of etcd; 0 is the present one. Absent ones are nil. Most
// are in the values of their names; the others have keys of their own.
func (s *Store) findEvents(ctx context.Context, places []place, at int64) ([]*dibs.Event, error) {
	events := make([]*dibs.Event, len(places))
	keys := make([]string, len(places))
	for i, p := range places {
		keys[i] = s.keys.ref(dibs.Ref{Kind: dibs.KindName, ID: p.name})
	}
	names, err := s.getKeys(ctx, keys, at)
	if err != nil {
		return nil, err
	}
	var alone []int // indexes of events that are not with their names
	keys = keys[:0]
	for i, kv := range names {
		if events[i], err = eventIn(kv, places[i]); err != nil {
			return nil, err
		}
		if events[i] == nil {
			alone, keys = append(alone, i), append(keys, s.keys.event(places[i].name, places[i].position))
		}
	}
	if len(alone) == 0 {
		return events, nil
	}
	others, err := s.getKeys(ctx, keys, at)
	if err != nil {
		return nil, err
	}
	for i, kv := range others {
		if kv == nil {
			continue
		}
		if events[alone[i]], err = eventAt(places[alone[i]], nil, kv.Value); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// eventIn returns an event from the value of its name, or nil if it is not there.
func eventIn(name *mvccpb.KeyValue, p place) (*dibs.Event, error) {
	if name == nil {
		return nil, nil
	}
	record, latest, err := decode(dibs.KindName, p.name, name.Value)
	if err != nil {
		return nil, err
	}
	value := latest.find(p.position)
	if value == nil {
		return nil, nil
	}
	return eventAt(p, record.(*dibs.NameRecord), value) // the kind that was asked for
}

// eventAt decodes an event.
func eventAt(p place, of *dibs.NameRecord, value []byte) (*dibs.Event, error) {
	event, err := decodeEvent(p.name, of, value)
	event.Cursor = cursorAt(p.position)
	return &event, err
}

// historyPage reads events of one name before a position, newest first: at most limit. An empty
// position is the end.
func (s *Store) historyPage(ctx context.Context, name dibs.ID, before string, limit int) (events []*dibs.Event, err error) {
	from, to := s.keys.history(name), prefixEnd(s.keys.history(name))
	if before != "" {
		from = s.keys.event(name, before) + nul
	}
	answer, err := s.read(ctx, clientv3.OpGet(s.keys.ref(dibs.Ref{Kind: dibs.KindName, ID: name})),
		clientv3.OpGet(from, clientv3.WithRange(to), clientv3.WithLimit(int64(limit))))
	if err != nil {
		return nil, err
	}
	for _, kv := range answer.Responses[0].GetResponseRange().Kvs {
		record, latest, err := decode(dibs.KindName, name, kv.Value)
		if err != nil {
			return nil, err
		}
		for at, value := range latest.all() {
			if before != "" && at >= before {
				continue
			}
			event, err := eventAt(place{name, at}, record.(*dibs.NameRecord), value)
			if err != nil {
				return nil, err
			}
			events = append(events, event)
		}
	}
	for _, kv := range answer.Responses[1].GetResponseRange().Kvs {
		at := invert(string(kv.Key[len(s.keys.history(name)):]))
		event, err := eventAt(place{name, at}, nil, kv.Value)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	slices.SortFunc(events, func(a, b *dibs.Event) int { return cmp.Compare(b.Cursor, a.Cursor) })
	return events[:min(len(events), limit)], nil
}

// position returns the position of an event in the feed: the order of its commit, and its
// index among the events of the commit.
func position(order uint64, index int) string { return positionIn(number(order), index) }

func positionIn(order string, index int) string {
	return string(binary.BigEndian.AppendUint16([]byte(order), uint16(index)))
}

const (
	orderSize    = 8
	positionSize = orderSize + 2
	maxEvents    = 1 << 16 // in a transaction: an index has two bytes
)

// idsIn returns the ids in an entry of the feed. The feed has one entry for each transaction
// with events: the ids of their names, in order. An entry also lists events of stale groups and
// of names that were deleted later. Readers skip these.
func idsIn(value []byte) []dibs.ID {
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
	var places []place // of all entries, in one round trip
	for i, entry := range entries {
		for index, id := range idsIn(entry.GetValue()) {
			places = append(places, place{id, positionIn(orders[i], index)})
		}
	}
	found, err := s.findEvents(ctx, places, 0)
	if err != nil {
		return nil, err
	}
	for i, entry := range entries {
		if entry == nil {
			continue
		}
		rest, left := bytes.Clone(entry.Value), false
		for index := range idsIn(entry.Value) {
			if left = left || found[index] != nil; found[index] == nil {
				clear(rest[index*len(dibs.ID{}):][:len(dibs.ID{})])
			}
		}
		found = found[len(idsIn(entry.Value)):]
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
