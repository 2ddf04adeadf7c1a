package etcdstore

import (
	"context"
	"encoding/binary"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// historyPage reads events of one name before a position, newest first: at most limit. An empty
// position is the end.
func (s *Store) historyPage(ctx context.Context, name dibs.ID, before string, limit int) ([]entry, bool, error) {
	prefix := s.keys.history(name)
	to := prefixEnd(prefix)
	if before != "" {
		to = prefix + before
	}
	found, _, err := s.readRange(ctx, before, prefix, to, limit)
	if err != nil {
		return nil, false, err
	}
	kvs := found.Kvs
	if found.More {
		first, end := orderIn(kvs[0].Key[len(prefix):]), s.clock.lastOrder()+1
		if before != "" {
			end = orderIn([]byte(before)) + 1
		}
		if kvs, err = s.lastOf(ctx, prefix, to, span{first, end}, limit); err != nil {
			return nil, false, err
		}
	}
	entries := make([]entry, len(kvs))
	for i, kv := range kvs {
		if entries[i], err = readEntry(string(kv.Key[len(prefix):]), name, kv.Value); err != nil {
			return nil, false, err
		}
	}
	slices.Reverse(entries)
	return entries, found.More, nil
}

// span is a range of orders: from first up to, but not including, end.
type span struct{ first, end uint64 }

// firstWidth is how many orders before the end are counted first: about a second.
const firstWidth = 1 << 20

// lastOf reads the last keys of a range that has more than limit: at most limit, and at least
// one.
//
// etcd reads forwards only: for the last keys of a range it fetches and sorts all keys. So lastOf
// searches the beginning of the page by counting, which etcd does without fetching. It multiplies
// the width until there are too many keys, and then bisects, so that it counts little more than
// it reads.
func (s *Store) lastOf(ctx context.Context, prefix, to string, all span, limit int) ([]*mvccpb.KeyValue, error) {
	fits, over := uint64(0), all.end-all.first // widths: the widest that fits on the page, the narrowest that does not
	width, found := uint64(firstWidth), 0      // found is how many keys there are in fits
	for over-fits > 1 && 2*found < limit {
		if width <= fits || width >= over {
			width = fits + (over-fits)/2
		}
		count, err := s.count(ctx, prefix+string(number(all.end-width)), to)
		if err != nil {
			return nil, err
		}
		if count > int64(limit) {
			over = width
		} else {
			fits, found, width = width, int(count), width*16
		}
	}
	if found == 0 {
		fits = over // one transaction has more events than the page has room for
	}
	answer, err := s.read(ctx, clientv3.OpGet(prefix+string(number(all.end-fits)), clientv3.WithRange(to)))
	if err != nil {
		return nil, err
	}
	kvs := answer.Responses[0].GetResponseRange().Kvs
	return kvs[max(0, len(kvs)-limit):], nil
}

// count counts the keys of a range.
func (s *Store) count(ctx context.Context, from, to string) (int64, error) {
	answer, err := s.read(ctx, clientv3.OpGet(from, clientv3.WithRange(to), clientv3.WithCountOnly()))
	if err != nil {
		return 0, err
	}
	return answer.Responses[0].GetResponseRange().Count, nil
}

// orderIn returns the order of a position.
func orderIn(position []byte) uint64 { return binary.BigEndian.Uint64(position) }
