package etcdstore

import (
	"context"
	"encoding/hex"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// Events returns events behind a cursor, which is the position of an event in hexadecimal.
// Positions rise as etcd applies transactions, so later commits come behind all that was ever
// read.
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
			return s.historyPage(ctx, query.Name, before, limit)
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
			if entry.exists {
				page = append(page, entry.event)
			}
		}
		if !more || len(page) >= query.Limit {
			return page, nil
		}
	}
}

// Latest returns the last position that the stored order allows: later commits have a higher
// order.
func (s *Store) Latest(ctx context.Context) (dibs.Cursor, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return "", err
	}
	defer s.calls.End()
	answer, err := s.read(ctx, clientv3.OpGet(s.keys.clock()))
	if err != nil {
		return "", unavailable(err)
	}
	mark, err := s.learnStamp(answer.Responses[0].GetResponseRange().Kvs)
	if err != nil {
		return "", unavailable(err)
	}
	return cursorAt(position(mark.order, maxEvents-1)), nil
}

func cursorAt(position string) dibs.Cursor { return dibs.Cursor(hex.EncodeToString([]byte(position))) }

// entry is an event at its position. One that does not exist was never committed, or was
// deleted with its name.
type entry struct {
	position string
	event    dibs.Event
	exists   bool
}

// readRange reads a range of keys at the present revision, and refuses a cursor beyond the
// last position.
func (s *Store) readRange(ctx context.Context, cursor, from, to string, limit int) (found *etcdserverpb.RangeResponse, at revision, err error) {
	answer, err := s.read(ctx,
		clientv3.OpGet(s.keys.clock()),
		clientv3.OpGet(from, clientv3.WithRange(to), clientv3.WithLimit(int64(limit))))
	if err != nil {
		return nil, 0, err
	}
	mark, err := s.learnStamp(answer.Responses[0].GetResponseRange().Kvs)
	if err != nil {
		return nil, 0, err
	}
	if cursor > position(mark.order, maxEvents-1) {
		return nil, 0, dibs.ErrBadCursor
	}
	return answer.Responses[1].GetResponseRange(), revision(answer.Header.Revision), nil
}

// maxTransactions is how many transactions a page of the feed has at most. Each has at least
// one event.
const maxTransactions = 64

// feedPage reads events of all names: at most limit, in order, without a gap.
func (s *Store) feedPage(ctx context.Context, after string, limit int) ([]entry, bool, error) {
	prefix := s.keys.feed()
	from := prefix + after[:min(len(after), orderSize)] // there may be more events of the same transaction
	found, at, err := s.readRange(ctx, after, from, prefixEnd(prefix), min(limit+1, maxTransactions))
	if err != nil {
		return nil, false, err
	}
	more := found.More
	var entries []entry
	var ids []dibs.ID
	var keys []string
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
			entries, ids, keys = append(entries, entry{position: p}), append(ids, id), append(keys, s.keys.history(id)+p)
		}
	}
	values, err := s.getKeys(ctx, keys, at)
	if isCompacted(err) {
		values, err = s.getKeys(ctx, keys, 0) // later an event can only be deleted or redacted
	}
	if err != nil {
		return nil, false, err
	}
	for i, kv := range values {
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
	return entry{position: at, event: event, exists: true}, err
}

// parseCursor returns the position of a cursor. It accepts only the spelling that cursorAt
// returns.
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
