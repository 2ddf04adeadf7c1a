package etcdstore

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// draft is a group on its way to become a part of a transaction.
type draft struct {
	group   dibs.Group
	outcome dibs.Outcome
	decided bool // the outcome is final, and the group is in no transaction

	formers map[string]footprint // by key: the records that it read, without those that were absent
	tellers [][]byte             // its events' values
	stories map[dibs.ID][]string // positions of the events that go with deleted names
	changes map[string]string    // puts that do not depend on the stamp
	removed []string             // keys that go; none is among the puts
}

// prepare makes drafts of groups. What they rest on is looked up where it is not known.
func (s *Store) prepare(ctx context.Context, groups []dibs.Group) ([]*draft, error) {
	if err := s.getToKnow(ctx, groups); err != nil {
		return nil, err
	}
	drafts := make([]*draft, len(groups))
	for i, group := range groups {
		d := &draft{group: group, formers: make(map[string]footprint)}
		drafts[i] = d
		for _, read := range group.Reads {
			if read.Rev == 0 {
				continue
			}
			key := s.keys.ref(read.Ref)
			former, ok := s.known.get(key)
			if !ok || former.rev != read.Rev {
				d.decided = true // stale
			}
			d.formers[key] = former
		}
		if d.decided {
			continue
		}
		if err := s.write(ctx, d); err != nil {
			return nil, err
		}
	}
	return drafts, nil
}

// getToKnow looks up records that the groups have read and of which nothing is known, or
// something else than they saw.
func (s *Store) getToKnow(ctx context.Context, groups []dibs.Group) error {
	var missing []dibs.Ref
	for _, group := range groups {
		for _, read := range group.Reads {
			if read.Rev == 0 {
				continue
			}
			if f, ok := s.known.get(s.keys.ref(read.Ref)); !ok || f.rev != read.Rev {
				missing = append(missing, read.Ref)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err := s.records(ctx, missing, 0)
	return err
}

// write works out the changes that a draft makes.
func (s *Store) write(ctx context.Context, d *draft) error {
	d.changes = make(map[string]string)
	gone := make(map[string]bool)
	for _, w := range d.group.Writes {
		ref := w.Record.Ref()
		key := s.keys.ref(ref)
		for _, former := range d.formers[key].indexes {
			gone[former.key] = true
		}
		if (w.Delete || w.Renew) && ref.Kind == dibs.KindName {
			if err := s.story(ctx, d, ref.ID); err != nil {
				return err
			}
		}
		if w.Delete {
			gone[key] = true
			continue
		}
		d.changes[key] = string(encode(w.Record))
		for _, to := range s.indexes(w.Record) {
			d.changes[to.key] = to.value
		}
	}
	for key := range gone {
		if _, stays := d.changes[key]; !stays {
			d.removed = append(d.removed, key)
		}
	}
	slices.Sort(d.removed)
	s.keepIndexes(d)
	for i := range d.group.Events {
		value, err := encodeEvent(&d.group.Events[i])
		if err != nil {
			return err
		}
		d.tellers = append(d.tellers, value)
	}
	return s.redact(ctx, d)
}

// redact lets events that were told before say less. Those of a name cannot go before the
// transaction without a change of the name, and others never do.
func (s *Store) redact(ctx context.Context, d *draft) error {
	if len(d.group.Redacts) == 0 {
		return nil // as nearly always: there is nothing to look up
	}
	keys := make([]string, len(d.group.Redacts))
	for i := range d.group.Redacts {
		position, err := parseCursor(d.group.Redacts[i].Cursor)
		if err != nil {
			return err
		}
		keys[i] = s.keys.story(d.group.Redacts[i].ID) + position
	}
	there, err := s.values(ctx, keys, 0)
	if err != nil {
		return err
	}
	for i, kv := range there {
		if kv == nil {
			continue
		}
		value, err := encodeEvent(&d.group.Redacts[i])
		if err != nil {
			return err
		}
		d.changes[keys[i]] = string(value)
	}
	return nil
}

// keepIndexes leaves out what is there already, and stays so as long as the record that it
// leads to does.
func (s *Store) keepIndexes(d *draft) {
	for _, former := range d.formers {
		for _, f := range former.indexes {
			if d.changes[f.key] == f.value {
				delete(d.changes, f.key)
			}
		}
	}
}

// story looks up where the events of a name that is deleted stand in the feed. None can
// come before the transaction without a change of the name.
func (s *Store) story(ctx context.Context, d *draft, name dibs.ID) error {
	prefix := s.keys.story(name)
	var answer *clientv3.GetResponse
	err := s.ask(ctx, func(ctx context.Context) (err error) {
		answer, err = s.client.Get(ctx, prefix, clientv3.WithRange(behind(prefix)), clientv3.WithKeysOnly())
		return err
	})
	if err != nil {
		return err
	}
	if d.stories == nil {
		d.stories = make(map[dibs.ID][]string)
	}
	positions := make([]string, len(answer.Kvs))
	for i, kv := range answer.Kvs {
		positions[i] = string(kv.Key[len(prefix):])
	}
	d.stories[name] = positions
	return nil
}

// compares are what must be so for the group to be committed.
func (s *Store) compares(d *draft) []clientv3.Cmp {
	all := make([]clientv3.Cmp, len(d.group.Reads))
	for i, read := range d.group.Reads {
		key := s.keys.ref(read.Ref)
		if read.Rev == 0 {
			all[i] = clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
		} else {
			all[i] = clientv3.Compare(clientv3.ModRevision(key), "=", d.formers[key].mod)
		}
	}
	return all
}

// ops are the changes, with events from an index on.
func (s *Store) ops(d *draft, mark stamp, firstEvent int) []clientv3.Op {
	var all []clientv3.Op
	for _, key := range slices.Sorted(maps.Keys(d.changes)) {
		all = append(all, clientv3.OpPut(key, d.changes[key]))
	}
	for _, key := range d.removed {
		all = append(all, clientv3.OpDelete(key))
	}
	for name := range d.stories {
		// Up to this commit: what it tells itself of the name stays.
		prefix := s.keys.story(name)
		all = append(all, clientv3.OpDelete(prefix, clientv3.WithRange(prefix+position(mark.order, 0))))
	}
	for i, value := range d.tellers {
		all = append(all, clientv3.OpPut(s.keys.story(d.group.Events[i].ID)+position(mark.order, firstEvent+i), string(value)))
	}
	return all
}

// position is an event's place in the feed: the order of its commit, and its index among
// the events of that.
func position(order uint64, index int) string { return positionIn(string(number(order)), index) }

func positionIn(order string, index int) string {
	return string(binary.BigEndian.AppendUint16([]byte(order), uint16(index)))
}

const (
	orderSize    = 8
	positionSize = orderSize + 2
	maxEvents    = 1 << 16 // in a transaction, as an index has two bytes
)

// size is how much of the servers' limits a draft takes.
func (s *Store) size(d *draft) (ops, bytes int) {
	const overhead = 16                                               // of each, on the wire
	keySize := len(s.keys.prefix) + 1 + len(dibs.ID{}) + positionSize // of an event
	ops = len(d.changes) + len(d.removed) + len(d.tellers) + len(d.stories)
	for key, value := range d.changes {
		bytes += len(key) + len(value) + overhead
	}
	for _, key := range d.removed {
		bytes += len(key) + overhead
	}
	for _, value := range d.tellers {
		bytes += keySize + len(value) + overhead + len(dibs.ID{})
	}
	bytes += len(d.stories) * (2*keySize + overhead)
	for _, read := range d.group.Reads {
		bytes += len(s.keys.ref(read.Ref)) + overhead
	}
	return max(ops, len(d.group.Reads)), bytes
}
