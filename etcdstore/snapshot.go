package etcdstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
)

var (
	_ snapshot.Source     = (*Store)(nil)
	_ snapshot.Renumberer = (*Store)(nil)
)

// Snapshot notes the present revision of etcd, and reads everything at it. etcd keeps a revision until
// it is compacted: a view that takes longer than --auto-compaction-retention fails with
// [errSnapshotCompacted], and never mixes moments.
func (s *Store) Snapshot(ctx context.Context) (snapshot.View, error) {
	return during(ctx, s, func() (snapshot.View, error) {
		answer, err := s.read(ctx, clientv3.OpGet(s.keys.clock()))
		if err != nil {
			return nil, err
		}
		kvs := answer.Responses[0].GetResponseRange().Kvs
		if len(kvs) == 0 {
			return nil, errWiped
		}
		mark, ok := decodeStamp(kvs[0].Value)
		if !ok {
			return nil, fmt.Errorf("%w: the clock", errDamaged)
		}
		s.clock.learn(mark)
		return &view{store: s, at: answer.Header.Revision, now: s.clock.now(), end: position(mark.order, maxEvents-1)}, nil
	})
}

// errSnapshotCompacted says that a view took too long.
var errSnapshotCompacted = errors.New("etcdstore: etcd has compacted the moment that was being read: read faster, or keep more revisions with --auto-compaction-retention on all members, and begin again")

// view reads at one revision of etcd.
type view struct {
	store  *Store
	at     int64
	now    dibs.Instant
	end    string // the last position that the order of then allows
	closed bool
}

func (v *view) Now() dibs.Instant { return v.now }

func (v *view) Latest() dibs.Cursor { return cursorAt(v.end) }

func (v *view) Close() error {
	v.closed = true
	return nil
}

// viewing runs a read of a view.
func viewing[T any](ctx context.Context, v *view, call func() (T, error)) (T, error) {
	return during(ctx, v.store, func() (result T, err error) {
		if v.closed {
			return result, dibs.ErrClosed
		}
		if result, err = call(); isCompacted(err) {
			err = fmt.Errorf("%w (revision %d)", errSnapshotCompacted, v.at)
		}
		return result, err
	})
}

// viewPage is how many keys a view reads at once.
const viewPage = 500

// tablePrefix returns what the keys of a table begin with.
func (k keys) tablePrefix(table snapshot.Table) string {
	return k.prefix + [...]string{snapshot.Names: "n", snapshot.Entities: "e", snapshot.Documents: "d"}[table]
}

func (v *view) Records(ctx context.Context, table snapshot.Table) iter.Seq2[dibs.Record, error] {
	prefix := v.store.keys.tablePrefix(table)
	return snapshot.Pages(func(last *dibs.Record) ([]dibs.Record, error) {
		from := prefix
		if last != nil {
			from = v.store.keys.ref((*last).Ref()) + nul
		}
		return viewing(ctx, v, func() (page []dibs.Record, err error) {
			found, err := v.store.rangeAt(ctx, from, prefixEnd(prefix), v.at)
			if err != nil {
				return nil, err
			}
			for _, kv := range found {
				record, err := decodeKey(table, string(kv.Key[len(prefix):]), kv.Value)
				if err != nil {
					return nil, err
				}
				page = append(page, record)
			}
			return page, nil
		})
	})
}

// rangeAt reads a page of keys at a revision.
func (s *Store) rangeAt(ctx context.Context, from, to string, at int64) ([]*mvccpb.KeyValue, error) {
	answer, err := s.read(ctx, clientv3.OpGet(from, clientv3.WithRange(to), clientv3.WithLimit(viewPage), clientv3.WithRev(at)))
	if err != nil {
		return nil, err
	}
	return answer.Responses[0].GetResponseRange().Kvs, nil
}

// decodeKey reads a record by the rest of its key, behind the prefix of its table.
func decodeKey(table snapshot.Table, rest string, value []byte) (dibs.Record, error) {
	var kind dibs.Kind
	switch table {
	case snapshot.Names:
		kind = dibs.KindName
	case snapshot.Entities:
		kind = dibs.KindEntity
	case snapshot.Documents:
		before, after, _ := strings.Cut(rest, nul)
		kind, rest = dibs.Kind(before), after
	}
	var id dibs.ID
	if len(rest) != len(id) {
		return nil, fmt.Errorf("%w: the key %q", errDamaged, rest)
	}
	record, _, err := decode(kind, dibs.ID([]byte(rest)), value)
	return record, err
}

func (v *view) Events(ctx context.Context, after dibs.Cursor) iter.Seq2[dibs.Event, error] {
	return func(yield func(dibs.Event, error) bool) {
		at, err := viewing(ctx, v, func() (string, error) { return v.store.parseCursor(ctx, after) })
		if err == nil && at > v.end {
			err = dibs.ErrBadCursor
		}
		for more := true; more && err == nil; {
			var events []*dibs.Event
			events, err = viewing(ctx, v, func() (events []*dibs.Event, err error) {
				events, at, more, err = v.feedPage(ctx, at)
				return events, err
			})
			for _, event := range events {
				if event != nil && !yield(*event, nil) { // nil was never committed, or was deleted with its name
					return
				}
			}
		}
		if err != nil {
			yield(dibs.Event{}, err)
		}
	}
}

// feedPage reads the next events, and returns the position of the last one.
func (v *view) feedPage(ctx context.Context, after string) (events []*dibs.Event, last string, more bool, err error) {
	s := v.store
	answer, err := s.read(ctx, clientv3.OpGet(s.feedFrom(after), clientv3.WithRange(prefixEnd(s.keys.feed())),
		clientv3.WithLimit(viewPage), clientv3.WithRev(v.at)))
	if err != nil {
		return nil, "", false, err
	}
	places, last, more := s.placesIn(answer.Responses[0].GetResponseRange(), after, snapshot.PageSize)
	events, err = s.findEvents(ctx, places, v.at)
	return events, last, more, err
}

func (v *view) Load(ctx context.Context, refs []dibs.Ref) ([]dibs.Record, error) {
	return viewing(ctx, v, func() ([]dibs.Record, error) { return v.store.records(ctx, refs, v.at) })
}

// StartAfter makes the order of commits begin behind those of another feed.
func (s *Store) StartAfter(_ context.Context, end dibs.Cursor) (dibs.Cursor, error) {
	raw, err := hex.DecodeString(string(end))
	if err != nil || len(raw) != positionSize {
		return "", nil //nolint:nilerr // it is of another kind of engine
	}
	at := string(raw)
	s.clock.learn(stamp{order: decodeNumber(raw[:orderSize]) + 1, time: s.clock.now()})
	s.feedStart.Store(&at)
	return end, nil
}

// checkStart refuses a position from before the feed of another store was put into this one. Such a feed
// is put there before anything else reads it, so that the answer does not change.
func (s *Store) checkStart(ctx context.Context, at string) error {
	if at == "" {
		return nil
	}
	if s.feedStart.Load() == nil {
		records, err := s.records(ctx, []dibs.Ref{snapshot.StartRef}, 0)
		if err != nil {
			return err
		}
		start := ""
		for _, record := range records {
			raw, err := hex.DecodeString(string(record.(*dibs.Document).Data))
			if err != nil {
				return fmt.Errorf("%w: the start of the feed", errDamaged)
			}
			start = string(raw)
		}
		s.feedStart.Store(&start)
	}
	if at <= *s.feedStart.Load() {
		return snapshot.ErrFormerCursor(cursorAt(at))
	}
	return nil
}
