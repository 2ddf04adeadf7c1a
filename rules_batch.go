package dibs

import (
	"iter"
	"maps"
)

// recordKey identifies a record. The scope of a Ref only says where to look.
type recordKey struct {
	kind Kind
	id   ID
}

func keyOf(r Ref) recordKey { return recordKey{r.Kind, r.ID} }

// ledger is the state of a batch: what one Load returned, and on top of it what the
// requests of the batch have decided so far. It also collects what they ask for.
type ledger struct {
	now     Instant
	loaded  map[recordKey]Record // as the engine has it; nil: known to be absent
	current map[recordKey]Record // changed by requests of this batch; nil: deleted
	owned   map[recordKey][]*NameRecord
	renewed map[recordKey]bool // the records of current that replace another one

	floors map[*Document]floor // decoded once: every new name of a namespace needs the same

	wants  []Ref      // everything asked for so far
	owners []ownerRef // every entity whose names were asked for
	asked  bool       // something was asked for that is not loaded

	// Of a guessed state: where records are looked up, and when the guess may be right.
	recall func(recordKey) Record
	window Window
}

// ownerRef asks for the names of an entity.
type ownerRef struct {
	scope  string
	entity Entity
}

func (o ownerRef) key() recordKey { return recordKey{KindEntity, EntityID(o.scope, o.entity)} }

func makeLedger(requests []*request) *ledger {
	records := 2 * len(requests)
	return &ledger{
		loaded:  make(map[recordKey]Record, records),
		current: make(map[recordKey]Record, records),
		owned:   make(map[recordKey][]*NameRecord),
		renewed: make(map[recordKey]bool),
		floors:  make(map[*Document]floor),
	}
}

// newLedger returns a state that wants everything the requests are known to read.
func newLedger(requests []*request) *ledger {
	l := makeLedger(requests)
	for _, r := range requests {
		for _, ref := range r.wants {
			l.want(ref)
		}
	}
	return l
}

// guessLedger returns a state that is guessed and not loaded: a record is what recall
// returns, or absent where a request expects that. It is incomplete if a request is known to
// read anything else.
func guessLedger(requests []*request, now Instant, window Window, recall func(recordKey) Record) *ledger {
	l := makeLedger(requests)
	l.now, l.window, l.recall = now, window, recall
	for _, r := range requests {
		for _, ref := range r.fresh {
			l.expectFresh(ref)
		}
	}
	for _, r := range requests {
		for _, ref := range r.wants {
			l.want(ref)
		}
	}
	return l
}

// guessed reports whether the state was guessed and not loaded.
func (l *ledger) guessed() bool { return l.recall != nil }

// complete reports whether the state has everything that was asked for.
func (l *ledger) complete() bool { return !l.asked }

// decide decides the requests in order.
func (l *ledger) decide(requests []*request) {
	for _, r := range requests {
		r.decide(l)
	}
}

// wanted returns the records to load, and the entities whose names are to be listed then.
func (l *ledger) wanted() ([]Ref, []ownerRef) { return l.wants, l.owners }

// load replaces the state by what was loaded: all records in one Load, so that every
// decision rests on one moment, and the names of each owner. Those are listed after the Load;
// the revision of the entity's record, loaded before, tells if they change in between.
func (l *ledger) load(loaded Snapshots, owned [][]*NameRecord) {
	clear(l.current)
	clear(l.loaded)
	clear(l.renewed)
	l.now = loaded.Now
	for _, ref := range l.wants {
		l.loaded[keyOf(ref)] = nil
	}
	for _, r := range loaded.Records {
		l.loaded[keyOf(r.Ref())] = r
	}
	for i, o := range l.owners {
		l.owned[o.key()] = owned[i]
	}
	l.asked = false
}

// records returns what was loaded; nil stands for a record that is absent.
func (l *ledger) records() iter.Seq[Record] { return maps.Values(l.loaded) }

// want notes a record to be loaded.
func (l *ledger) want(ref Ref) {
	if !l.knows(ref) {
		l.loaded[keyOf(ref)] = nil
		l.wants = append(l.wants, ref)
		l.asked = true
	}
}

// expectFresh is want for a record that is most likely absent: a guessed state assumes that.
func (l *ledger) expectFresh(ref Ref) {
	if l.guessed() && !l.knows(ref) {
		l.loaded[keyOf(ref)] = nil
	}
	l.want(ref)
}

// knows reports whether a record is loaded, or remembered in a guessed state.
func (l *ledger) knows(ref Ref) bool {
	key := keyOf(ref)
	if _, known := l.loaded[key]; known {
		return true
	}
	if l.guessed() {
		if r := l.recall(key); r != nil {
			l.loaded[key] = r
			return true
		}
	}
	return false
}

// wantOwned notes an entity whose names are to be listed.
func (l *ledger) wantOwned(o ownerRef) {
	if _, known := l.owned[o.key()]; !known {
		l.owned[o.key()] = nil
		l.owners = append(l.owners, o)
		l.asked = true
	}
}

// get returns a record, or nil, and whether the batch has changed it. A record that is not
// loaded looks absent for now. A record that the batch has purged looks as it was: a command
// that writes it again undoes the purge, and its history goes on. An index entry does not: a
// reader would keep an entry that was deleted.
func (l *ledger) get(ref Ref) (r Record, changed bool) {
	r, changed = l.current[keyOf(ref)]
	if r != nil || (changed && (ref.Kind == KindSkeleton || ref.Kind == KindHash)) {
		return r, true
	}
	l.want(ref)
	return l.loaded[keyOf(ref)], changed
}
