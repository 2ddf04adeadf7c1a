package rules

import (
	"iter"

	"github.com/calldibs/dibs"
)

// Key identifies a record. The scope of a [dibs.Ref] only says where the record is stored.
type Key struct {
	kind dibs.Kind
	id   dibs.ID
}

// KeyOf returns the key of the record that a ref leads to.
func KeyOf(r dibs.Ref) Key { return Key{r.Kind, r.ID} }

// Batch is the state that the requests of one batch are decided on: the result of one Load, and the
// changes of the requests that were decided so far. It also collects the records that decisions ask
// for and that are not loaded yet. The zero Batch is ready for [Batch.Begin] or [Batch.Guess], and so
// is a Batch whose requests have their answers: it then reuses its memory.
type Batch struct {
	now     dibs.Instant
	entries []entry
	index   map[Key]int                  // of entries, once there are more than few
	size    int                          // of the index, about, for a new one
	owned   map[Owner][]*dibs.NameRecord // as the engine has them

	// decoded are namespace records, each decoded once: every new name of a namespace reads the
	// same. Documents never change, so later batches use them too.
	decoded map[*dibs.Document]NamespaceRecord

	// glanced is the name that a decision glanced at last.
	glanced struct {
		record *dibs.NameRecord
		state  *nameState // as of now
	}

	wants  []dibs.Ref // everything asked for so far
	owners []Owner    // every entity whose names were asked for
	asked  bool       // something was asked for that is not loaded

	// Set in a guessed state: where records come from, and when the guess may be right.
	recall func(Key) dibs.Record
	window dibs.Window

	grouping grouping
}

// entry is what a batch knows of one record.
type entry struct {
	key     Key
	loaded  dibs.Record // as the engine has it, if known; nil: absent
	current dibs.Record // as requests of this batch have changed it, if changed; nil: deleted
	known   bool
	changed bool
	renewed bool // current replaces another record
	touched int  // by this request last, counted from 1; 0: by none
}

const (
	few  = 16   // records are found faster by comparing than by hashing
	many = 4096 // records make an index that is not kept: clearing it would take long
)

// Owner asks for the names of an entity.
type Owner struct {
	Scope  string
	Entity dibs.Entity
}

// OwnedLimit is how many names of an entity a batch lists: one more than a command may touch.
const OwnedLimit = maxNames + 1

// Begin starts a batch that wants everything the requests are known to read.
func (b *Batch) Begin(requests []*Request) { b.Guess(requests, 0, dibs.Window{}, nil) }

// Guess starts a batch whose state is guessed and not loaded: a record is what recall returns, or
// absent where a request expects that. The state is incomplete if a request is known to read any
// other record.
func (b *Batch) Guess(requests []*Request, now dibs.Instant, window dibs.Window, recall func(Key) dibs.Record) {
	b.now, b.window, b.recall = now, window, recall
	b.forget()
	clear(b.owned)
	b.wants, b.owners, b.asked = nil, nil, false // engines may still read those of a Load that failed
	b.size = 0
	for _, r := range requests {
		b.size += len(r.wants)
	}
	if b.Guessed() {
		for _, r := range requests {
			for _, w := range r.wants {
				if w.likelyAbsent {
					b.expectAbsent(w.Ref)
				}
			}
		}
	}
	for _, r := range requests {
		for _, w := range r.wants {
			b.want(w.Ref)
		}
	}
}

// forget drops all records.
func (b *Batch) forget() {
	if len(b.entries) > many {
		b.index = nil
	}
	clear(b.entries)
	b.entries = b.entries[:0]
	b.glanced.record, b.glanced.state = nil, nil
}

// find returns the entry of a record, or nil. It is valid until the next entry is added.
func (b *Batch) find(key Key) *entry {
	if len(b.entries) > few {
		if i, ok := b.index[key]; ok {
			return &b.entries[i]
		}
		return nil
	}
	for i := range b.entries {
		if b.entries[i].key == key {
			return &b.entries[i]
		}
	}
	return nil
}

// entry returns the entry of a record, a new one if there is none.
func (b *Batch) entry(key Key) *entry {
	if e := b.find(key); e != nil {
		return e
	}
	b.entries = append(b.entries, entry{key: key})
	switch last := len(b.entries) - 1; {
	case last > few:
		b.index[key] = last
	case last == few:
		clear(b.index)
		if b.index == nil {
			b.index = make(map[Key]int, b.size)
		}
		for i := range b.entries {
			b.index[b.entries[i].key] = i
		}
	}
	return &b.entries[len(b.entries)-1]
}

// Now returns the engine's time at which the batch is decided.
func (b *Batch) Now() dibs.Instant { return b.now }

// Guessed reports whether the state was guessed and not loaded.
func (b *Batch) Guessed() bool { return b.recall != nil }

// Decide decides the requests in order.
func (b *Batch) Decide(requests []*Request) {
	for _, r := range requests {
		r.Decide(b)
	}
}

// Complete reports whether the state has everything that was asked for.
func (b *Batch) Complete() bool { return !b.asked }

// Wanted returns the records to load, and the entities whose names are to be listed after that.
func (b *Batch) Wanted() ([]dibs.Ref, []Owner) { return b.wants, b.owners }

// Load replaces the state by what was loaded: all records in one Load, so that every decision
// rests on one moment, and the names of each owner. Names are listed after the Load; the revision
// of the entity's record, which was loaded before, tells whether they changed in between.
func (b *Batch) Load(loaded dibs.LoadResult, owned [][]*dibs.NameRecord) {
	b.forget()
	b.now = loaded.Now
	for _, ref := range b.wants {
		b.entry(KeyOf(ref)).known = true
	}
	for _, r := range loaded.Records {
		e := b.entry(KeyOf(r.Ref()))
		e.loaded, e.known = r, true
	}
	for i, o := range b.owners {
		b.owned[o] = owned[i]
	}
	b.asked = false
}

// Records returns the records that the engine has.
func (b *Batch) Records() iter.Seq[dibs.Record] {
	return func(yield func(dibs.Record) bool) {
		for i := range b.entries {
			if r := b.entries[i].loaded; r != nil && !yield(r) {
				return
			}
		}
	}
}

// Touched returns the records that the requests have read, and whether they have changed them.
func (b *Batch) Touched() iter.Seq2[Key, bool] {
	return func(yield func(Key, bool) bool) {
		for i := range b.entries {
			if e := &b.entries[i]; !yield(e.key, e.changed) {
				return
			}
		}
	}
}

// get returns a record, or nil, and whether the batch has changed it. A record that is not loaded
// looks absent for now. A record that the batch deletes looks as it was before: a command that
// writes it again undoes the deletion, and its history goes on. But an index entry that the batch
// deletes is absent: a decision that finds its name in an entry does not write the entry again.
func (b *Batch) get(ref dibs.Ref) (r dibs.Record, changed bool) {
	key := KeyOf(ref)
	if e := b.find(key); e != nil && e.changed && (e.current != nil || ref.Kind == dibs.KindSkeleton || ref.Kind == dibs.KindHash) {
		return e.current, true
	}
	b.want(ref)
	e := b.find(key)
	return e.loaded, e.changed
}

func (b *Batch) want(ref dibs.Ref) {
	if !b.knows(ref) {
		b.entry(KeyOf(ref)).known = true
		b.wants = append(b.wants, ref)
		b.asked = true
	}
}

// expectAbsent is want for a record that is most likely absent: a guessed state assumes so.
func (b *Batch) expectAbsent(ref dibs.Ref) {
	if b.Guessed() && !b.knows(ref) {
		b.entry(KeyOf(ref)).known = true
	}
	b.want(ref)
}

// knows reports whether a record is loaded, or remembered in a guessed state.
func (b *Batch) knows(ref dibs.Ref) bool {
	key := KeyOf(ref)
	if e := b.find(key); e != nil && e.known {
		return true
	}
	if !b.Guessed() {
		return false
	}
	r := b.recall(key)
	if r != nil {
		e := b.entry(key)
		e.loaded, e.known = r, true
	}
	return r != nil
}

// change notes what a request has changed, for the requests after it.
func (b *Batch) change(c change) {
	e := b.entry(KeyOf(c.ref))
	e.current, e.changed = c.record, true
}

// maxDecoded bounds the decoded namespace records that a batch keeps for later ones.
const maxDecoded = 64

func (b *Batch) decodeNamespaceRecord(doc *dibs.Document) (NamespaceRecord, *dibs.Error) {
	if record, known := b.decoded[doc]; known {
		return record, nil
	}
	record, err := decodeNamespaceRecord(doc)
	if err == nil {
		if b.decoded == nil || len(b.decoded) >= maxDecoded {
			b.decoded = make(map[*dibs.Document]NamespaceRecord)
		}
		b.decoded[doc] = record
	}
	return record, err
}

// namesOf returns the names of an entity, which looks as if it had none until they are listed.
func (b *Batch) namesOf(o Owner) []*dibs.NameRecord {
	names, known := b.owned[o]
	if !known {
		if b.owned == nil {
			b.owned = make(map[Owner][]*dibs.NameRecord)
		}
		b.owned[o] = nil
		b.owners = append(b.owners, o)
		b.asked = true
	}
	return names
}
