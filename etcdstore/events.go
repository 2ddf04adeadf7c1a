package etcdstore

import (
	"context"
	"encoding/hex"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// Events returns events behind a cursor, which is the position of its event in
// hexadecimal. Positions rise as etcd applies transactions, so whatever is committed later
// stands behind all that was ever read.
func (s *Store) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.End()
	after, err := parseCursor(query.After)
	if err != nil {
		return nil, err
	}
	read := s.feedPage
	if !query.Name.IsZero() {
		read = func(ctx context.Context, before string, limit int) ([]entry, bool, error) {
			return s.storyPage(ctx, query.Name, before, limit)
		}
	}
	var page []dibs.Event
	for {
		entries, more, err := read(ctx, after, query.Limit-len(page))
		if err != nil {
			return nil, unavailable(err)
		}
		for _, entry := range entries {
			after = entry.position
			if entry.there {
				page = append(page, entry.event)
			}
		}
		if !more || len(page) >= query.Limit {
			return page, nil
		}
	}
}

// Latest returns the last position that the clock on record allows: whatever is committed
// later has a higher order.
func (s *Store) Latest(ctx context.Context) (dibs.Cursor, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return "", err
	}
	defer s.calls.End()
	answer, err := s.get(ctx, []clientv3.Op{clientv3.OpGet(s.keys.clock())})
	if err != nil {
		return "", unavailable(err)
	}
	now := answer.Responses[0].GetResponseRange().Kvs
	if err := s.learnFrom(now); err != nil {
		return "", unavailable(err)
	}
	mark, _ := decodeStamp(now[0].Value) // it was read a moment ago
	return cursorAt(position(mark.order, maxEvents-1)), nil
}

func cursorAt(position string) dibs.Cursor { return dibs.Cursor(hex.EncodeToString([]byte(position))) }

// entry is an event in its place. One that is not there was never committed, or went with
// its name.
type entry struct {
	position string
	event    dibs.Event
	there    bool
}

// behindCursor reads keys at one moment that is now, and refuses a place that is beyond
// what there ever was.
func (s *Store) behindCursor(ctx context.Context, after, from, to string, limit int) (found *etcdserverpb.RangeResponse, at moment, err error) {
	answer, err := s.get(ctx, []clientv3.Op{
		clientv3.OpGet(s.keys.clock()),
		clientv3.OpGet(from, clientv3.WithRange(to), clientv3.WithLimit(int64(limit))),
	})
	if err != nil {
		return nil, 0, err
	}
	now := answer.Responses[0].GetResponseRange().Kvs
	if err := s.learnFrom(now); err != nil {
		return nil, 0, err
	}
	if mark, _ := decodeStamp(now[0].Value); after > position(mark.order, maxEvents-1) {
		return nil, 0, dibs.ErrBadCursor
	}
	return answer.Responses[1].GetResponseRange(), moment(answer.Header.Revision), nil
}

// maxTransactions is of how many transactions the events are read at once. Each has told of
// at least one.
const maxTransactions = 64

// feedPage reads events of all names: at most limit, but all that may be there up to the
// last of them.
func (s *Store) feedPage(ctx context.Context, after string, limit int) ([]entry, bool, error) {
	prefix := s.keys.feed()
	from := prefix + after[:min(len(after), orderSize)] // there may be more in the same transaction
	found, at, err := s.behindCursor(ctx, after, from, behind(prefix), min(limit+1, maxTransactions))
	if err != nil {
		return nil, false, err
	}
	more := found.More
	var entries []entry
	var ids []dibs.ID
	var names []string
	for _, kv := range found.Kvs {
		for index, id := range namesIn(kv.Value) {
			p := positionIn(string(kv.Key[len(prefix):]), index)
			if p <= after {
				continue
			}
			if len(entries) == limit {
				more = true
				break
			}
			entries, ids, names = append(entries, entry{position: p}), append(ids, id), append(names, s.keys.story(id)+p)
		}
	}
	told, err := s.values(ctx, names, at)
	if isCompacted(err) {
		told, err = s.values(ctx, names, 0) // an event only ever goes, or says less
	}
	if err != nil {
		return nil, false, err
	}
	for i, kv := range told {
		if kv == nil {
			continue
		}
		if entries[i], err = readEntry(entries[i].position, ids[i], kv.Value); err != nil {
			return nil, false, err
		}
	}
	return entries, more, nil
}

func readEntry(at string, name dibs.ID, value []byte) (entry, error) {
	event, err := decodeEvent(name, value)
	event.Cursor = cursorAt(at)
	return entry{position: at, event: event, there: true}, err
}

// parseCursor returns the position that a cursor stands for. Only the one spelling that
// was given out is good.
func parseCursor(cursor dibs.Cursor) (string, error) {
	if cursor == "" {
		return "", nil
	}
	if len(cursor) != 2*positionSize {
		return "", dibs.ErrBadCursor
	}
	raw, err := hex.DecodeString(string(cursor))
	if err != nil || cursorAt(string(raw)) != cursor {
		return "", dibs.ErrBadCursor
	}
	return string(raw), nil
}
