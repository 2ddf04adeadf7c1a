package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

var (
	// ErrNotEmpty is returned for a target that has something already.
	ErrNotEmpty = errors.New("the target is not empty")
	// ErrOtherSource is returned for a target into which another source was being written.
	ErrOtherSource = errors.New("the target has a part of something else, which was being written into it")
)

// Renumberer is an optional interface of engines. A store that is filled with the feed of another one
// gives new cursors to the events. Those of the other store must not be mistaken for its own: a reader
// would skip events, or get some again.
type Renumberer interface {
	// StartAfter makes an empty store number its events, and its Latest, behind a cursor of another
	// store. It returns
	// the cursor up to which this engine must refuse all others with [dibs.ErrBadCursor]: the Writer
	// stores it under [StartRef]. It is empty if no cursor of the other store looks like one of this
	// engine.
	StartAfter(ctx context.Context, end dibs.Cursor) (start dibs.Cursor, err error)
}

var (
	// ProgressRef is the ref of the document that says how far a [Writer] has got.
	ProgressRef = refOf(KindProgress)
	// StartRef is the ref of the document with the cursor that [Renumberer.StartAfter] returned.
	StartRef = refOf(KindStart)
)

// ErrFormerCursor returns the error for a cursor of the store that a registry was in before.
func ErrFormerCursor(cursor dibs.Cursor) error {
	return fmt.Errorf("%w: %q is from the store that this registry was in before it was loaded here", dibs.ErrBadCursor, string(cursor))
}

// refOf returns the ref of the one document of a kind.
func refOf(kind dibs.Kind) dibs.Ref {
	sum := sha256.Sum256([]byte(kind))
	return dibs.Ref{Kind: kind, ID: dibs.ID(sum[:16])}
}

// progress is the content of that document.
type progress struct {
	rev    uint64
	Source string `json:"source"`         // what is written
	Items  int    `json:"items"`          // how many of its items the store has
	Done   bool   `json:"done,omitempty"` // all parts have all items, and the documents are deleted next
}

// Writer puts records and events into an empty store, each item once and in order: first all records,
// as they are, then all events, in the order of the feed. Every commit also stores how many items it
// has got. So a Writer that was killed can begin again with the same items, and skips those that the
// store has. It is for one goroutine.
//
// Nothing else may write to the store meanwhile. The store gives new cursors to the events.
type Writer struct {
	source string
	items  int // so far
	parts  []*partWriter
	partOf func(scope string) int
}

// NewWriter returns a writer into a store that is empty, or has the beginning of the same source. The
// source's name must change when one of its items does. End is the end of its feed.
func NewWriter(ctx context.Context, store dibs.Store, source string, end dibs.Cursor) (*Writer, error) {
	w := &Writer{source: source, partOf: func(string) int { return 0 }}
	parts := []dibs.Part{{Store: store}}
	if p, ok := store.(dibs.Partitioned); ok {
		parts, w.partOf = p.Parts(), p.PartOf
	}
	if len(parts) == 1 {
		parts[0].Name = "" // there is no other
	}
	finishing := false
	for _, p := range parts {
		own := &partWriter{store: p.Store, limit: maxItems}
		var err error
		if own.stored, err = readProgress(ctx, p.Store); err != nil {
			return nil, err
		}
		if own.stored.rev > 0 && own.stored.Source != source {
			return nil, fmt.Errorf("%w: go on with that, or choose an empty target", ErrOtherSource)
		}
		finishing = finishing || own.stored.Done
		w.parts = append(w.parts, own)
	}
	return w, w.begin(ctx, parts, finishing, end)
}

// begin begins in the parts that are new. It changes nothing unless all of them are empty. If the last
// writer was finishing, the parts without progress are complete.
func (w *Writer) begin(ctx context.Context, parts []dibs.Part, finishing bool, end dibs.Cursor) error {
	var begin []*partWriter
	for i, own := range w.parts {
		switch {
		case own.stored.rev > 0:
		case finishing:
			own.stored.Items = math.MaxInt
		default:
			if err := CheckEmpty(ctx, parts[i]); err != nil {
				return err
			}
			begin = append(begin, own)
		}
	}
	for _, own := range begin {
		if err := own.begin(ctx, w.source, end); err != nil {
			return err
		}
	}
	return nil
}

// Stored returns how many items the store had when the writer began: the first ones need not be read
// again by a source that can skip them with [Writer.Skip].
func (w *Writer) Stored() int {
	least := math.MaxInt
	for _, p := range w.parts {
		least = min(least, p.stored.Items)
	}
	return least
}

// Skip passes over items that are stored.
func (w *Writer) Skip(items int) { w.items += items }

// Record adds a record.
func (w *Writer) Record(ctx context.Context, record dibs.Record) error {
	size := 0
	if d, ok := record.(*dibs.Document); ok {
		size = len(d.Data)
	}
	return w.add(ctx, record.Ref().Scope, item{record: record, size: size})
}

// Event adds an event. The record of its name must have been added before.
func (w *Writer) Event(ctx context.Context, event dibs.Event) error {
	event.Cursor = ""
	return w.add(ctx, event.Scope, item{event: &event})
}

func (w *Writer) add(ctx context.Context, scope string, it item) error {
	w.items++
	it.number = w.items
	return w.parts[w.partOf(scope)].add(ctx, it)
}

// Flush commits what was added.
func (w *Writer) Flush(ctx context.Context) error {
	for _, p := range w.parts {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Finish commits what was added, and marks the store as complete.
func (w *Writer) Finish(ctx context.Context) error {
	if err := w.Flush(ctx); err != nil {
		return err
	}
	for _, p := range w.parts {
		if p.stored.rev == 0 || p.stored.Done {
			continue
		}
		next := p.stored
		next.Done = true
		if _, err := p.commit(ctx, dibs.Group{}, next); err != nil {
			return err
		}
	}
	for _, p := range w.parts {
		if p.stored.rev == 0 {
			continue // it is finished already
		}
		if _, err := p.try(ctx, dibs.Group{
			Reads:  []dibs.Read{{Ref: ProgressRef, Rev: p.stored.rev}},
			Writes: []dibs.Write{{Record: p.stored.document(), Delete: true}},
		}, &progress{}); err != nil {
			return err
		}
	}
	return nil
}

// item is a record or an event, with its number in the source.
type item struct {
	number int
	record dibs.Record
	event  *dibs.Event
	size   int // of large data
}

const (
	maxItems = 2000    // in a commit
	maxBytes = 1 << 20 // of large data in a commit
)

// partWriter writes into one engine.
type partWriter struct {
	store  dibs.Store
	stored progress
	limit  int // how many items a commit may have
	items  []item
	bytes  int
}

// begin stores that the writer has begun.
func (p *partWriter) begin(ctx context.Context, source string, end dibs.Cursor) error {
	var g dibs.Group
	if r, ok := p.store.(Renumberer); ok && end != "" {
		start, err := r.StartAfter(ctx, end)
		if err != nil {
			return err
		}
		if start != "" {
			add(&g, &dibs.Document{Kind: KindStart, ID: StartRef.ID, Rev: 1, Label: string(KindStart), Data: []byte(start)}, 0)
		}
	}
	_, err := p.commit(ctx, g, progress{Source: source})
	return err
}

func (p *partWriter) add(ctx context.Context, it item) error {
	if it.number <= p.stored.Items {
		return nil
	}
	p.items, p.bytes = append(p.items, it), p.bytes+it.size
	if len(p.items) < p.limit && p.bytes < maxBytes {
		return nil
	}
	return p.flush(ctx)
}

func (p *partWriter) flush(ctx context.Context) error {
	for len(p.items) > 0 {
		some := p.items[:min(len(p.items), p.limit)]
		group, err := p.group(ctx, some)
		if err != nil {
			return err
		}
		next := p.stored
		next.Items = some[len(some)-1].number
		switch outcome, err := p.commit(ctx, group, next); {
		case err != nil:
			return err
		case outcome == dibs.TooLarge && len(some) == 1:
			return fmt.Errorf("item %d is too large for the target", some[0].number)
		case outcome == dibs.TooLarge:
			p.limit = (len(some) + 1) / 2
		default:
			p.items = p.items[len(some):]
		}
	}
	p.items, p.bytes = nil, 0
	return nil
}

// group returns the changes that put items into the store. A name is written again with its events, so
// that the engine keeps them together.
func (p *partWriter) group(ctx context.Context, items []item) (g dibs.Group, err error) {
	written := make(map[dibs.Ref]bool)
	var earlier []dibs.Ref // names with events whose records are in the store
	for _, it := range items {
		if it.record != nil {
			add(&g, it.record, 0)
			written[it.record.Ref()] = true
			continue
		}
		g.Events = append(g.Events, *it.event)
		ref := dibs.Ref{Kind: dibs.KindName, Scope: it.event.Scope, ID: it.event.ID}
		if !it.event.ID.IsZero() && !written[ref] {
			written[ref] = true
			earlier = append(earlier, ref)
		}
	}
	if len(earlier) == 0 {
		return g, nil
	}
	found, err := p.store.Load(ctx, earlier)
	for _, record := range found.Records {
		add(&g, record, record.Revision())
	}
	return g, err
}

// add adds the write of a record to a group.
func add(g *dibs.Group, record dibs.Record, read uint64) {
	write := dibs.Write{Record: record}
	if name, ok := record.(*dibs.NameRecord); ok {
		if write.Was = dibs.Free; read > 0 {
			write.Was = name.State
		}
	}
	g.Reads = append(g.Reads, dibs.Read{Ref: record.Ref(), Rev: read})
	g.Writes = append(g.Writes, write)
}

// attempts is how often a commit is tried that the engine does not answer.
const attempts = 20

// commit commits a group with the next progress.
func (p *partWriter) commit(ctx context.Context, group dibs.Group, next progress) (dibs.Outcome, error) {
	next.rev = p.stored.rev + 1
	group.Reads = append(group.Reads, dibs.Read{Ref: ProgressRef, Rev: p.stored.rev})
	group.Writes = append(group.Writes, dibs.Write{Record: next.document()})
	return p.try(ctx, group, &next)
}

// try commits a group until the engine says whether it is done, and then has the next progress; nil
// means none.
func (p *partWriter) try(ctx context.Context, group dibs.Group, next *progress) (dibs.Outcome, error) {
	wait := backoff.Backoff{First: 10 * time.Millisecond, Max: 2 * time.Second}
	for attempt := 1; ; attempt++ {
		outcomes, err := p.store.Commit(ctx, []dibs.Group{group})
		if err == nil && outcomes[0] == dibs.Committed {
			p.stored = *next
			return dibs.Committed, nil
		}
		if err == nil && outcomes[0] == dibs.TooLarge {
			return dibs.TooLarge, nil
		}
		stored, readErr := readProgress(ctx, p.store)
		switch {
		case readErr == nil && stored == *next:
			p.stored = *next // the answer was lost
			return dibs.Committed, nil
		case readErr == nil && (stored.rev != p.stored.rev || err == nil && outcomes[0] == dibs.Stale):
			return dibs.Stale, errors.New("something else has written to the target meanwhile: stop it, and begin again with an empty target")
		case attempt == attempts:
			return dibs.Stale, errors.Join(err, readErr)
		}
		if waited := wait.Wait(ctx); waited != nil {
			return dibs.Stale, errors.Join(err, waited)
		}
	}
}

func (p progress) document() *dibs.Document {
	data, _ := json.Marshal(p) // a text and a number
	return &dibs.Document{Kind: KindProgress, ID: ProgressRef.ID, Rev: p.rev, Label: string(KindProgress), Data: data}
}

// readProgress returns the progress of a store; the zero progress if it has none.
func readProgress(ctx context.Context, store dibs.Store) (p progress, err error) {
	found, err := store.Load(ctx, []dibs.Ref{ProgressRef})
	if err != nil || len(found.Records) == 0 {
		return p, err
	}
	doc := found.Records[0].(*dibs.Document) // by its kind
	p.rev = doc.Rev
	return p, json.Unmarshal(doc.Data, &p)
}

// IsLoading reports whether a store is being filled by a [Writer], or was, and is not complete.
func IsLoading(ctx context.Context, store dibs.Store) (bool, error) {
	p, err := readProgress(ctx, store)
	return p.rev > 0, err
}

// CheckEmpty returns ErrNotEmpty if a part has a record or an event, or is being filled. What a server
// leaves in every store that it has looked at does not count.
func CheckEmpty(ctx context.Context, part dibs.Part) error {
	view, err := Take(ctx, part.Store)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	where := ""
	if part.Name != "" {
		where = fmt.Sprintf(" (part %q)", part.Name)
	}
	for _, table := range Tables {
		for record, err := range view.Records(ctx, table) {
			if err != nil {
				return err
			}
			if kind := record.Ref().Kind; !IsLocal(record) || kind == KindProgress || kind == KindCopy {
				return fmt.Errorf("%w%s: it has %s", ErrNotEmpty, where, describe(record))
			}
		}
	}
	for _, err := range view.Events(ctx, "") {
		if err != nil {
			return err
		}
		return fmt.Errorf("%w%s: its feed has events", ErrNotEmpty, where)
	}
	return nil
}

// describe names a record for a message.
func describe(record dibs.Record) string {
	switch r := record.(type) {
	case *dibs.NameRecord:
		return "the name " + r.Key()
	case *dibs.EntityRecord:
		return "the entity " + r.Entity.String()
	case *dibs.Document:
		return fmt.Sprintf("a document of the kind %q", r.Kind)
	}
	return "a record"
}
