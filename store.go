package dibs

import (
	"context"
	"errors"
)

// Store is the contract of an engine. An engine has no rule about names: it loads records, and
// commits a decision if nothing that the decision read has changed.
//
// Each "must" below has an id in brackets; package storetest has a case for every one of them.
// All methods must be safe for concurrent use [concurrent].
//
// Errors: a method that did nothing because the engine cannot be reached must return an error
// that matches [ErrUnavailable] [unavailable]; after Close, every method must [closed]. If the
// context has ended before the call, the method must return the context's error and change
// nothing [cancelled].
//
// Optional interfaces of engines: [Pinger], [Scrubber], [Clock], [Parallel], [Waker],
// [Partitioned], [Binder].
type Store interface {
	// Load returns those of refs that exist, and the engine's time.
	//
	// All records must come from one moment: Load never sees half of a committed group
	// [load-snapshot]. It must see every group whose Commit returned before Load was called
	// [load-fresh]. Every field must come back as it was committed, IDs and values byte for
	// byte: no case folding, no normalising, no trimming [load-exact]. Kind and ID together
	// identify a record [load-kind]. Refs that do not exist are left out, and a ref given twice
	// is answered once or twice, as one record [load-absent]. Now must come from the clock with
	// which Commit compares windows [load-now].
	Load(ctx context.Context, refs []Ref) (LoadResult, error)

	// Commit commits groups, each as a whole or not at all, and must return one outcome for
	// each, in order [commit-outcomes].
	//
	// A group must be committed only if every record in its Reads still has the revision that
	// was read, where 0 means absent [commit-reads], also for records that the group does not
	// write [commit-read-only], and only if the engine's clock is within the group's Window
	// once all of that is certain [commit-window]. Otherwise the group must change nothing and
	// be [Stale] [commit-stale]. Stale takes precedence over every other fault of the group: a
	// decision on records of different moments may, for instance, give an entity a second
	// active name, and a violated constraint is then no error of the engine
	// [commit-stale-first].
	//
	// Groups of one call never share a record that one of them writes. A record that was read
	// as absent is always among the group's Writes. What identifies a record (a name's
	// namespace and canonical form, an entity's type and id, the scope of any record) never
	// changes, unless a Write has Renew. An engine may treat all groups of a call as one, and
	// report all of them as stale if one is.
	//
	// Another transaction may have locked a record, possibly for long, such as a transaction of
	// a caller. An engine must not delay the other groups by waiting long for one. It must
	// report the group as [Busy] and change nothing for it [commit-busy].
	//
	// An engine that bounds the size of a commit reports a larger group as [TooLarge]. The
	// registry then retries with fewer commands in a group.
	//
	// A committed group's records, deletions and events must become visible in one step
	// [commit-atomic], and must be on disk when Commit returns, on engines that have a disk
	// [commit-durable]. Of concurrent commits that replace the same revision of a record
	// exactly one must succeed [commit-race]. Records are stored with the revision they carry
	// [commit-revision]. A deleted record must be absent afterwards; with a name its events are
	// deleted too, other events keep their cursors, and the cursors of deleted events stay
	// valid [commit-delete]. A write with Renew must leave nothing of the record as it was
	// before: it is a deletion, followed by the new record and the group's own events
	// [commit-renew]. An event in Redacts must replace the event with its cursor, in the same
	// position; an event that was deleted stays deleted [commit-redact]. Writes with Yields are
	// names that stop being an entity's active one: an engine with a unique index on active
	// names must accept a group's writes in any order [commit-yields].
	//
	// An engine that fails during a commit, and does not know the outcome, must return an error
	// that matches [ErrOutcomeUnknown].
	Commit(ctx context.Context, groups []Group) ([]Outcome, error)

	// Await supports answers that depend on time alone: a hold, say, was over at end, and no
	// commit has recorded it. A group that was decided in time may still be in progress, with
	// its Window already checked, and Load does not see it yet.
	//
	// After Await has returned without an error, every group that writes one of refs and whose
	// Window ends at end or before must be visible to every later Load, or never be committed,
	// whichever process commits it and whatever delays it [await-commits]. So Await waits for
	// such groups, or makes them stale. If the engine's clock has not reached end, Await waits
	// for that too [await-clock]. If its context ends first, it must return an error then
	// [await-deadline]. It must not delay other callers.
	Await(ctx context.Context, refs []Ref, end Instant) error

	// Due returns at most limit refs of records whose Due date is at or before the engine's
	// now, earliest first [due-order]. A date is reached at its very millisecond [due-exact],
	// and a record without one is never due [due-none].
	Due(ctx context.Context, limit int) ([]Ref, error)

	// Owned returns an entity's names, active ones and aliases, ordered by namespace and
	// canonical form, at most limit of them [owned]. Names that the entity has given up must
	// not be among them [owned-given-up].
	Owned(ctx context.Context, scope string, entity Entity, limit int) ([]*NameRecord, error)

	// List returns names, or documents of one kind, in byte order: names by namespace and
	// canonical form, documents by label [list-order]. It must respect every field of the query
	// [list-filter]. Resuming after the last record of a page must neither skip nor repeat a
	// record that stays [list-paging]. With DueBefore it must return held names by their Due
	// dates [list-due]. The cost of a page should depend on its limit
	// and on the number of namespaces, not on names in other states or out of bounds.
	List(ctx context.Context, query ListQuery) ([]Record, error)

	// Count counts names by namespace and stored state, in any order, without free ones.
	// EndingSoon is the number of held names whose Due date is at or before soon. Count must
	// include every group whose Commit returned before the call, and none in part [count]. The
	// cost should not depend on the number of names, except those that end soon.
	Count(ctx context.Context, soon Instant) (Stats, error)

	// Events returns the events of the feed after a cursor, in an order in which each name's
	// events are ordered by revision, and each group's as the group lists them [events-order].
	// A reader that resumes from the last cursor it saw must get every event exactly once, also
	// those of commits that were in progress when it read [events-gapless]. Events must respect
	// every field of the query [events-filter] and return each event as it was committed
	// [events-exact]. It refuses a cursor that the engine never gave out with [ErrBadCursor]
	// [events-cursor].
	//
	// The history of a name is read from its end: its newest event comes first, and a reader
	// that resumes from the last cursor it saw must get every older event once, whatever is
	// committed meanwhile [events-history]. The cost of a page must be in proportion to its
	// limit, however long the feed or the history is [events-cost].
	Events(ctx context.Context, query EventQuery) ([]Event, error)

	// Latest returns the cursor of the feed's end. All events of commits that returned before
	// the call must be before it, and all events of commits that begin after the call has
	// returned must be after it [events-latest]. It may be empty if there is no event.
	Latest(ctx context.Context) (Cursor, error)

	// Close releases the store's resources. Committed data stays: on engines that have a disk,
	// a store that is opened again on the same data must have all of it [reopen]. Closing twice
	// is allowed [close-twice].
	Close() error
}

// ErrBadCursor is returned for a cursor that does not come from this registry.
var ErrBadCursor = errors.New("dibs: no such cursor: use one from this registry, or none to begin at the beginning")

// ErrClosed is the cause of the UNAVAILABLE error after Close.
var ErrClosed = errors.New("dibs: closed")

// LoadResult is the result of Load: records of one moment, and the engine's time then.
type LoadResult struct {
	Now     Instant
	Records []Record
}

// Group is a set of changes that are committed together or not at all.
type Group struct {
	Reads  []Read  // everything that the decision depends on
	Writes []Write // everything that it changes; each is among the Reads
	Events []Event // new events, in order
	// Redacts replace events in the feed, of names that the group writes or of entities as a
	// whole, and have fewer details. Cursor, Kind, At, ID, Namespace, Canonical and Rev are
	// unchanged.
	Redacts []Event
	Window  Window // when the decision is right
}

// Read is a record that a decision read, and its revision.
type Read struct {
	Ref Ref
	Rev uint64 // 0 if it was absent
}

// Write is a change to one record.
type Write struct {
	Record Record
	// Delete removes the record instead of storing it.
	Delete bool
	// Renew first deletes the record with this ID: what identified it, and a name's events.
	Renew bool
	// Yields marks a name that was an entity's active name and no longer belongs to it.
	Yields bool
	// Was is the state of a name before, and [Free] if it was absent, so that an engine can keep
	// count of names. It is empty for other records.
	Was State
}

// Window is when a decision is right: From (inclusive) to Before (exclusive); zero is open.
type Window struct {
	From, Before Instant
}

// Contains reports whether now is within the window.
func (w Window) Contains(now Instant) bool {
	return now >= w.From && (w.Before == 0 || now < w.Before)
}

// Intersect returns the instants that are within both windows.
func (w Window) Intersect(other Window) Window {
	before := min(w.Before, other.Before)
	if before == 0 { // at least one of them is open
		before = max(w.Before, other.Before)
	}
	return Window{From: max(w.From, other.From), Before: before}
}

// Outcome is the outcome of a group.
type Outcome uint8

// The outcomes. The zero Outcome is Stale, so that an outcome that was not set is not a success.
const (
	Stale     Outcome = iota // a record has changed, or the window is over; nothing was done
	Committed                // the group is committed
	Busy                     // another transaction has locked a record; nothing was done, retry
	TooLarge                 // the engine cannot commit that much at once; nothing was done, retry with less
)

// ListQuery selects records of one kind.
type ListQuery struct {
	Kind Kind

	// Namespace selects names of one namespace; empty means all. Documents have none.
	Namespace string
	// States selects names in any of these states; none means all.
	States []State
	// From (inclusive) and To (exclusive) bound the canonical form or label; both are valid
	// UTF-8. Empty means open.
	From, To string

	// DueBefore selects held names whose Due date is before it, earliest first, with Kind,
	// Namespace and Limit. Zero means that dates do not matter.
	DueBefore Instant
	// After resumes after this record. Nil means from the start.
	After *ListPosition
	Limit int // at least 1; only the last page is shorter
}

// ListPosition is a position in a listing.
type ListPosition struct {
	Namespace string // empty for documents
	Label     string // a name's canonical form, or a document's label
}

// EventQuery selects events: of the feed, oldest first, or of one name, newest first.
type EventQuery struct {
	// After resumes after this event, in the direction of reading: with Name that is towards
	// older events, and the cursor is that of one of the name's events. Empty means the
	// beginning of the feed, or the end of the name's history.
	After Cursor
	Limit int // at least 1; only the last page is shorter
	Name  ID  // the history of this name; zero means the feed
}
