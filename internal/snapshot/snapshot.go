// Package snapshot reads everything that an engine has, as of one moment, and writes it into an
// empty store: the one primitive for archives, copies and checks of a whole registry.
package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// Source is an optional interface of engines that can show everything they have as of one moment.
// All engines of this module have it, and so have the stores that wrap them.
type Source interface {
	// Snapshot begins a view of the present moment. It sees every group whose Commit returned
	// before the call, and none in part. It must not delay a Commit, however long it is open
	// [snapshot-writers]. After Close of the store it must match [dibs.ErrUnavailable]
	// [snapshot-closed].
	Snapshot(ctx context.Context) (View, error)
}

// View shows a store as of one moment: no later commit is visible in it [snapshot-moment]. A View is
// for one goroutine. Its iterators need memory for a page of records, whatever the size of the store;
// several may be in use at once, and each may be run again. After an error an iterator ends, unless the
// error is a [*DamageError].
type View interface {
	// Now returns the engine's time at that moment. Nothing in the view was committed after it.
	Now() dibs.Instant
	// Latest returns the end of the feed at that moment: events behind it are those of later commits.
	Latest() dibs.Cursor
	// Records returns the records of a table, byte for byte as they were committed
	// [snapshot-records], in the order of their IDs; documents by kind first.
	Records(ctx context.Context, table Table) iter.Seq2[dibs.Record, error]
	// Events returns the events of the feed after a cursor, in order and with their cursors
	// [snapshot-events]. The empty cursor is the beginning.
	Events(ctx context.Context, after dibs.Cursor) iter.Seq2[dibs.Event, error]
	// Load returns those of refs that exist.
	Load(ctx context.Context, refs []dibs.Ref) ([]dibs.Record, error)
	// Close ends the view. Closing twice is allowed.
	Close() error
}

// DamageError is the error about one record or event that is not as it was written. It comes with what can
// still be read of it, if anything, and the iterator goes on with the next one.
type DamageError struct {
	Row string // which one it is, such as "row 7 of dibs_names"
	Err error
}

// Error returns the text of the error of the engine.
func (d *DamageError) Error() string { return d.Err.Error() }

// Unwrap returns the error of the engine.
func (d *DamageError) Unwrap() error { return d.Err }

// Ends reports whether an iterator ends with an error.
func Ends(err error) bool {
	_, goesOn := errors.AsType[*DamageError](err)
	return err != nil && !goesOn
}

// Table is a sort of records.
type Table uint8

// The tables.
const (
	Names Table = iota
	Entities
	Documents
)

// Tables are all tables.
var Tables = [...]Table{Names, Entities, Documents}

// String returns the name of the table.
func (t Table) String() string { return [...]string{"names", "entities", "documents"}[t] }

// TableOf returns the table of a kind of record.
func TableOf(kind dibs.Kind) Table {
	switch kind {
	case dibs.KindName:
		return Names
	case dibs.KindEntity:
		return Entities
	default:
		return Documents
	}
}

// The kinds of documents that belong to a store, and not to the registry in it.
const (
	KindRoutes   dibs.Kind = "routes"    // which scopes the store has as one of several parts
	KindProbe    dibs.Kind = "probe"     // that the store can be written to
	KindProgress dibs.Kind = "loading"   // how far a [Writer] has got: the store is not complete
	KindCopy     dibs.Kind = "copy"      // how far a copy into the store has got
	KindStart    dibs.Kind = "feedstart" // the end of the feed that a [Writer] continued: see [Renumberer]
)

// IsLocal reports whether a record belongs to a store, and not to the registry in it: it stays where it
// is when the registry moves.
func IsLocal(r dibs.Record) bool {
	local := []dibs.Kind{KindRoutes, KindProbe, KindProgress, KindStart, KindCopy, record.KindFence}
	return slices.Contains(local, r.Ref().Kind)
}

// Take takes a snapshot of a store. It fails with [dibs.ErrUnsupported] if the engine has none.
func Take(ctx context.Context, store dibs.Store) (View, error) {
	if source, ok := store.(Source); ok {
		return source.Snapshot(ctx)
	}
	return nil, fmt.Errorf("%w: the engine %T has no snapshots", dibs.ErrUnsupported, store)
}

// PageSize is how many records or events an engine reads at once for an iterator.
const PageSize = 1000

// Pages returns the elements of pages one after another. The function returns the page after an
// element, nil for the first page, and an empty one at the end.
func Pages[T any](page func(last *T) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for last := (*T)(nil); ; {
			found, err := page(last)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			if len(found) == 0 {
				return
			}
			for _, element := range found {
				if !yield(element, nil) {
					return
				}
			}
			last = &found[len(found)-1]
		}
	}
}

// CompareRefs orders refs as a View orders records: by kind, then by ID.
func CompareRefs(a, b dibs.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), bytes.Compare(a.ID[:], b.ID[:]))
}
