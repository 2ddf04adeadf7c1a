package etcdstore

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// pendingGroup is a group on its way into a transaction.
type pendingGroup struct {
	group   dibs.Group
	outcome dibs.Outcome
	decided bool // the outcome is final, and the group is in no transaction

	formers   map[string]footprint // of the existing records that it read, by key
	events    [][]byte             // the values of its events
	histories map[dibs.ID][]string // positions of the events of deleted names
	puts      map[string]string    // except events, whose keys depend on the stamp
	deletes   []string             // keys that are not among the puts
}

// prepare works out what groups compare and change. It loads footprints that are missing.
func (s *Store) prepare(ctx context.Context, groups []dibs.Group) ([]*pendingGroup, error) {
	if err := s.loadFootprints(ctx, groups); err != nil {
		return nil, err
	}
	pending := make([]*pendingGroup, len(groups))
	for i, group := range groups {
		p := &pendingGroup{group: group, formers: make(map[string]footprint)}
		pending[i] = p
		for _, read := range group.Reads {
			if read.Rev == 0 {
				continue
			}
			key := s.keys.ref(read.Ref)
			former, ok := s.footprints.get(key)
			if !ok || former.rev != read.Rev {
				p.decided = true // stale
			}
			p.formers[key] = former
		}
		if p.decided {
			continue
		}
		if err := s.write(ctx, p); err != nil {
			return nil, err
		}
	}
	return pending, nil
}

// loadFootprints loads the records that the groups have read and whose footprint is missing,
// or has another revision.
func (s *Store) loadFootprints(ctx context.Context, groups []dibs.Group) error {
	var missing []dibs.Ref
	for _, group := range groups {
		for _, read := range group.Reads {
			if read.Rev == 0 {
				continue
			}
			if f, ok := s.footprints.get(s.keys.ref(read.Ref)); !ok || f.rev != read.Rev {
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

// write works out the changes of a group.
func (s *Store) write(ctx context.Context, p *pendingGroup) error {
	p.puts = make(map[string]string)
	gone := make(map[string]bool)
	for _, w := range p.group.Writes {
		ref := w.Record.Ref()
		key := s.keys.ref(ref)
		for _, former := range p.formers[key].indexes {
			gone[former.key] = true
		}
		if (w.Delete || w.Renew) && ref.Kind == dibs.KindName {
			if err := s.findHistory(ctx, p, ref.ID); err != nil {
				return err
			}
		}
		if w.Delete {
			gone[key] = true
			continue
		}
		p.puts[key] = string(encode(w.Record))
		for _, to := range s.indexes(w.Record) {
			p.puts[to.key] = to.value
		}
	}
	for key := range gone {
		if _, stays := p.puts[key]; !stays {
			p.deletes = append(p.deletes, key)
		}
	}
	slices.Sort(p.deletes)
	p.skipUnchangedIndexes()
	for i := range p.group.Events {
		value, err := encodeEvent(&p.group.Events[i])
		if err != nil {
			return err
		}
		p.events = append(p.events, value)
	}
	return s.redact(ctx, p)
}

// redact replaces the values of events that exist. They still exist when the transaction is
// applied: only a change of the name removes its events, and other events are never removed.
func (s *Store) redact(ctx context.Context, p *pendingGroup) error {
	if len(p.group.Redacts) == 0 {
		return nil
	}
	keys := make([]string, len(p.group.Redacts))
	for i := range p.group.Redacts {
		position, err := parseCursor(p.group.Redacts[i].Cursor)
		if err != nil {
			return err
		}
		keys[i] = s.keys.history(p.group.Redacts[i].ID) + position
	}
	found, err := s.getKeys(ctx, keys, 0)
	if err != nil {
		return err
	}
	for i, kv := range found {
		if kv == nil {
			continue
		}
		value, err := encodeEvent(&p.group.Redacts[i])
		if err != nil {
			return err
		}
		p.puts[keys[i]] = string(value)
	}
	return nil
}

// skipUnchangedIndexes removes puts of index keys that exist already. They change only with
// their record.
func (p *pendingGroup) skipUnchangedIndexes() {
	for _, former := range p.formers {
		for _, f := range former.indexes {
			if p.puts[f.key] == f.value {
				delete(p.puts, f.key)
			}
		}
	}
}

// findHistory finds the positions of the events of a name that is deleted. No event can be
// added before the transaction without a change of the name.
func (s *Store) findHistory(ctx context.Context, p *pendingGroup, name dibs.ID) error {
	prefix := s.keys.history(name)
	answer, err := retry(ctx, s, func(ctx context.Context) (*clientv3.GetResponse, error) {
		return s.client.Get(ctx, prefix, clientv3.WithRange(prefixEnd(prefix)), clientv3.WithKeysOnly())
	})
	if err != nil {
		return err
	}
	if p.histories == nil {
		p.histories = make(map[dibs.ID][]string)
	}
	positions := make([]string, len(answer.Kvs))
	for i, kv := range answer.Kvs {
		positions[i] = string(kv.Key[len(prefix):])
	}
	p.histories[name] = positions
	return nil
}

// compares returns the conditions under which the group is committed.
func (s *Store) compares(p *pendingGroup) []clientv3.Cmp {
	all := make([]clientv3.Cmp, len(p.group.Reads))
	for i, read := range p.group.Reads {
		key := s.keys.ref(read.Ref)
		if read.Rev == 0 {
			all[i] = clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
		} else {
			all[i] = clientv3.Compare(clientv3.ModRevision(key), "=", p.formers[key].mod)
		}
	}
	return all
}

// ops returns the changes. The first event gets the index firstEvent.
func (s *Store) ops(p *pendingGroup, mark stamp, firstEvent int) []clientv3.Op {
	var all []clientv3.Op
	for _, key := range slices.Sorted(maps.Keys(p.puts)) {
		all = append(all, clientv3.OpPut(key, p.puts[key]))
	}
	for _, key := range p.deletes {
		all = append(all, clientv3.OpDelete(key))
	}
	for name := range p.histories {
		// Up to this commit: its own events of the name stay.
		prefix := s.keys.history(name)
		all = append(all, clientv3.OpDelete(prefix, clientv3.WithRange(prefix+position(mark.order, 0))))
	}
	for i, value := range p.events {
		all = append(all, clientv3.OpPut(s.keys.history(p.group.Events[i].ID)+position(mark.order, firstEvent+i), string(value)))
	}
	return all
}

// position returns the position of an event in the feed: the order of its commit, and its
// index among the events of the commit.
func position(order uint64, index int) string { return positionIn(string(number(order)), index) }

func positionIn(order string, index int) string {
	return string(binary.BigEndian.AppendUint16([]byte(order), uint16(index)))
}

const (
	orderSize    = 8
	positionSize = orderSize + 2
	maxEvents    = 1 << 16 // in a transaction: an index has two bytes
)

// size returns how much of the servers' limits a group takes.
func (s *Store) size(p *pendingGroup) (ops, bytes int) {
	const overhead = 16                                               // of each, on the wire
	keySize := len(s.keys.prefix) + 1 + len(dibs.ID{}) + positionSize // of an event
	ops = len(p.puts) + len(p.deletes) + len(p.events) + len(p.histories)
	for key, value := range p.puts {
		bytes += len(key) + len(value) + overhead
	}
	for _, key := range p.deletes {
		bytes += len(key) + overhead
	}
	for _, value := range p.events {
		bytes += keySize + len(value) + overhead + len(dibs.ID{})
	}
	bytes += len(p.histories) * (2*keySize + overhead)
	for _, read := range p.group.Reads {
		bytes += len(s.keys.ref(read.Ref)) + overhead
	}
	return max(ops, len(p.group.Reads)), bytes
}
