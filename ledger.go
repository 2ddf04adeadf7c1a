package dibs

// recordKey identifies a record. The scope of a Ref only says where to look.
type recordKey struct {
	kind Kind
	id   ID
}

func (r Ref) key() recordKey { return recordKey{r.Kind, r.ID} }

// ledger holds what one Load brought, and on top of it what the commands of the
// batch decided so far. It also collects what they ask for.
type ledger struct {
	now     Instant
	loaded  map[recordKey]Record // as the engine has it; nil: known to be absent
	current map[recordKey]Record // changed by commands of this batch; nil: deleted
	owned   map[recordKey][]*NameRecord
	renewed map[recordKey]bool // what of current takes the place of another record

	due []Ref // what is due, earliest first, if anybody asked

	floors map[*Document]floor // decoded once: every new name of a namespace rests on the same

	wants  []Ref      // everything asked for so far
	owners []ownerRef // every entity whose names were asked for
	dues   int        // how much of what is due was asked for
	asked  bool       // something was asked for that is not loaded

	// Of a ledger that nothing is loaded into: where it looks for what it is asked
	// for, and when its guesses may be right.
	recall func(recordKey) Record
	window Window
}

// ownerRef asks for the names of an entity.
type ownerRef struct {
	scope  string
	entity Entity
}

func (o ownerRef) key() recordKey { return recordKey{KindEntity, EntityID(o.scope, o.entity)} }

// newLedger returns an empty ledger, with room for so many records.
func newLedger(records int) *ledger {
	return &ledger{
		loaded:  make(map[recordKey]Record, records),
		current: make(map[recordKey]Record, records),
		owned:   make(map[recordKey][]*NameRecord),
		renewed: make(map[recordKey]bool),
		floors:  make(map[*Document]floor),
	}
}

// guesses reports whether what the ledger knows was guessed and not loaded.
func (l *ledger) guesses() bool { return l.recall != nil }

// complete reports whether every question since the last load was answered.
func (l *ledger) complete() bool { return !l.asked }

// want notes a record to be loaded.
func (l *ledger) want(ref Ref) {
	if !l.knows(ref) {
		l.loaded[ref.key()] = nil
		l.wants = append(l.wants, ref)
		l.asked = true
	}
}

// expectFresh is want for a record that is most likely absent: who guesses, guesses
// that.
func (l *ledger) expectFresh(ref Ref) {
	if l.guesses() && !l.knows(ref) {
		l.loaded[ref.key()] = nil
	}
	l.want(ref)
}

// knows reports whether a record is loaded, or remembered by a ledger that guesses.
func (l *ledger) knows(ref Ref) bool {
	key := ref.key()
	if _, known := l.loaded[key]; known {
		return true
	}
	if l.guesses() {
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

// get returns a record, or nil, and whether the batch has changed it. One that is not loaded looks absent for now. One that
// the batch has purged looks as it was: whoever writes it again takes that back, and
// its history goes on. A folder does not: who finds in it what it looks for would leave
// it as it is, and that is gone.
func (l *ledger) get(ref Ref) (r Record, changed bool) {
	r, changed = l.current[ref.key()]
	if r != nil || (changed && (ref.Kind == KindSkeleton || ref.Kind == KindHash)) {
		return r, true
	}
	l.want(ref)
	return l.loaded[ref.key()], changed
}
