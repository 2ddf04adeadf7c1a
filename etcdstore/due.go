package etcdstore

import (
	"cmp"
	"context"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// dueDate is the due date that a commit gave a record.
type dueDate struct {
	ref  dibs.Ref
	date dibs.Instant
}

// dueDates are the due dates that one commit set, of records that are due in the same period.
// A date counts as long as its record has it: the group may have been stale, and the record may
// have changed since. A commit that changes the date of a record writes the new one, so a date
// that no longer counts may be removed at any time.
type dueDates []dueDate

// A period is about as long as a commit takes. So the dates of the commits of a busy server,
// whose holds last equally long, are one or two keys a commit, and few keys have to be read for
// the earliest dates.
const periodBits = 6 // 64 ms

func periodOf(date dibs.Instant) uint64 { return uint64(date) >> periodBits }

func (d *dueDates) code(c *coder) {
	c.version()
	n := c.count(len(*d))
	if c.decoding {
		*d = make(dueDates, n)
	}
	for i := range *d {
		date := &(*d)[i]
		word(c, &date.ref.Kind)
		text(c, &date.ref.Scope)
		c.array(date.ref.ID[:])
		integer(c, &date.date)
	}
}

func (d dueDates) encode() []byte {
	c := &coder{data: make([]byte, 0, 32*len(d))}
	d.code(c)
	return c.data
}

func decodeDue(value []byte) (dates dueDates, err error) {
	c := &coder{data: value, decoding: true}
	dates.code(c)
	return dates, c.err
}

// addDue notes the due date that a group gives a record, if it is new.
func (p *pendingGroup) addDue(r dibs.Record, former dibs.Instant) {
	if date := record.Due(r); date != 0 && date != former {
		p.due = append(p.due, dueDate{r.Ref(), date})
	}
}

// putDue returns the operations that store due dates, one for each period.
func (s *Store) putDue(all dueDates, order uint64) (puts []*pb.RequestOp) {
	slices.SortStableFunc(all, func(a, b dueDate) int { return cmp.Compare(a.date, b.date) })
	for len(all) > 0 {
		period, n := periodOf(all[0].date), 1
		for n < len(all) && periodOf(all[n].date) == period {
			n++
		}
		puts = append(puts, put(s.keys.due(period)+number(order), all[:n].encode()))
		all = all[n:]
	}
	return puts
}

// Due returns refs of records whose Due date is reached, earliest first.
func (s *Store) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	return during(ctx, s, func() (refs []dibs.Ref, err error) {
		for from, until := uint64(0), s.clock.now(); len(refs) < limit; {
			var page duePage
			if page, err = s.duePage(ctx, from, until, 0); err != nil {
				return nil, err
			}
			due, err := s.checkDue(ctx, &page, limit-len(refs))
			if err != nil {
				return nil, err
			}
			for _, r := range due {
				refs = append(refs, r.Ref())
			}
			if from = page.next; !page.more {
				break
			}
		}
		return refs, nil
	})
}

// duePage is a part of the due dates: all of some periods.
type duePage struct {
	keys  []string   // of the dates
	dates []keyedDue // by date
	at    int64      // the revision
	next  uint64     // the first period that is not in it
	more  bool       // there may be later periods
}

// keyedDue is a date with the index of its key in the page.
type keyedDue struct {
	dueDate
	key int
}

// dueKeys is how many keys with due dates are read at once.
const dueKeys = 32

// duePage reads the dates from a period on, up to a date, at a revision; 0 is the present one.
func (s *Store) duePage(ctx context.Context, from uint64, until dibs.Instant, at int64) (page duePage, err error) {
	for limit := dueKeys; ; limit *= 2 {
		found, revision, err := s.scan(ctx, s.keys.due(from), s.keys.due(periodOf(until)+1), limit, clientv3.WithRev(at))
		if err != nil {
			return page, err
		}
		kvs := found.Kvs
		page.at, page.next, page.more = cmp.Or(at, revision), periodOf(until)+1, found.More
		if found.More { // the last period may have more keys
			page.next = s.periodIn(kvs[len(kvs)-1])
			kvs = slices.DeleteFunc(kvs, func(kv *mvccpb.KeyValue) bool { return s.periodIn(kv) == page.next })
		}
		if len(kvs) > 0 || !found.More {
			return page, page.read(kvs, until)
		}
	}
}

func (s *Store) periodIn(kv *mvccpb.KeyValue) uint64 {
	return decodeNumber(kv.Key[len(s.keys.prefix)+1:][:orderSize])
}

// read decodes the dates up to a date.
func (p *duePage) read(kvs []*mvccpb.KeyValue, until dibs.Instant) error {
	for i, kv := range kvs {
		dates, err := decodeDue(kv.Value)
		if err != nil {
			return err
		}
		p.keys = append(p.keys, string(kv.Key))
		for _, d := range dates {
			if d.date > until {
				p.keys[i] = "" // it has to stay
				continue
			}
			p.dates = append(p.dates, keyedDue{d, i})
		}
	}
	slices.SortStableFunc(p.dates, func(a, b keyedDue) int { return cmp.Compare(a.date, b.date) })
	return nil
}

// checkDue returns the records that have the dates of a page now, by date: at most limit. It
// removes the keys whose dates no longer count.
func (s *Store) checkDue(ctx context.Context, p *duePage, limit int) (due []dibs.Record, err error) {
	seen := make(map[dibs.Ref]bool)
	dates := p.dates
	for ; len(dates) > 0 && len(due) < limit; dates = dates[min(limit, len(dates)):] {
		some := dates[:min(limit, len(dates))]
		refs := make([]dibs.Ref, len(some))
		for i, d := range some {
			refs[i] = d.ref
		}
		records, err := s.records(ctx, refs, 0)
		if err != nil {
			return nil, err
		}
		byRef := make(map[dibs.Ref]dibs.Record, len(records))
		for _, r := range records {
			byRef[r.Ref()] = r
		}
		for _, d := range some {
			r := byRef[d.ref]
			if r == nil || record.Due(r) != d.date {
				continue
			}
			p.keys[d.key] = ""
			if !seen[d.ref] && len(due) < limit {
				due = append(due, r)
			}
			seen[d.ref] = true
		}
	}
	for _, d := range dates {
		p.keys[d.key] = "" // not checked
	}
	s.removeKeys(ctx, p.keys)
	return due, nil
}

// removeKeys removes keys that are not needed, and ignores errors.
func (s *Store) removeKeys(ctx context.Context, keys []string) {
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "" })
	for some := range slices.Chunk(keys, minOps) {
		ops := make([]clientv3.Op, len(some))
		for i, key := range some {
			ops[i] = clientv3.OpDelete(key)
		}
		_, _ = attempt(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
			return s.client.Txn(ctx).Then(ops...).Commit()
		})
	}
}

// tidyDue removes the dates to come of names that a transaction has deleted, so that a forgotten
// name leaves no trace. Due removes the others. It ignores errors.
func (s *Store) tidyDue(ctx context.Context, t *transaction) {
	for _, p := range t.groups {
		for _, gone := range p.deletedDue {
			if p.outcome != dibs.Committed || gone.date <= t.mark.time {
				continue
			}
			period := s.keys.due(periodOf(gone.date))
			found, _, err := s.scan(ctx, period, period+number(t.mark.order), 0)
			if err != nil {
				return
			}
			for _, kv := range found.Kvs {
				s.removeDue(ctx, kv, gone)
			}
		}
	}
}

// removeDue removes a date from those under a key.
func (s *Store) removeDue(ctx context.Context, kv *mvccpb.KeyValue, gone dueDate) {
	dates, err := decodeDue(kv.Value)
	rest := slices.DeleteFunc(slices.Clone(dates), func(d dueDate) bool { return d.ref.Kind == gone.ref.Kind && d.ref.ID == gone.ref.ID })
	if err != nil || len(rest) == len(dates) {
		return
	}
	change := clientv3.OpPut(string(kv.Key), string(rest.encode()))
	if len(rest) == 0 {
		change = clientv3.OpDelete(string(kv.Key))
	}
	_, _ = attempt(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(string(kv.Key)), "=", kv.ModRevision)).Then(change).Commit()
	})
}
