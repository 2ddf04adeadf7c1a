package dibs

import (
	"context"
	"errors"
)

// Store is the contract of an engine. It knows no rule about names: it loads
// records, and commits what the rules decided if nothing it rests on has changed.
//
// Each "must" below carries an id in brackets; package storetest has a case for
// every one of them. All methods must be safe for concurrent use [concurrent].
//
// Errors: a method that did nothing because the engine cannot be reached must
// return an error that matches [ErrUnavailable] [unavailable]; after Close, every
// method must [closed]. A context that has ended before the call must make it
// return the context's error and change nothing [cancelled].
type Store interface {
	// Load returns the records that exist among refs, and the engine's time.
	//
	// All of them must come from one moment: Load never sees half of a committed
	// group [load-snapshot]. It must see every group whose Commit returned before
	// Load was called [load-fresh]. Records must come back as they were committed,
	// every field, and IDs and values byte for byte: no case folding, no
	// normalising, no trimming [load-exact]. Kind and ID together identify a record
	// [load-kind]; refs that are not there are left out, and a ref given twice is
	// answered once or twice, as one record [load-absent]. Now must be taken from
	// the clock that Commit checks windows against [load-now].
	Load(ctx context.Context, refs []Ref) (Snapshots, error)

	// Commit commits groups, each as a whole or not at all, and must return one
	// outcome for each, in order [commit-outcomes].
	//
	// A group must be committed only if every record in its Reads still has the
	// revision it was read with, where 0 means that it is absent [commit-reads],
	// also for records that the group does not write [commit-read-only], and only
	// if the engine's clock lies within its Window once all of that is certain
	// [commit-window]. Otherwise it must change nothing and be [Stale]
	// [commit-stale]. That comes before whatever else is wrong with it: a decision on
	// records of different moments may give an entity a second active name, say, and a
	// constraint that keeps this out is no fault of the engine [commit-stale-first].
	// Groups of one call never share a record that one of them
	// writes, and a record that is read as absent is always among the group's
	// Writes. What identifies a record (a name's namespace and canonical form, an
	// entity's type and id, anyone's scope) never changes, unless a Write says Renew.
	// An engine may treat all groups of a call as one, and call all of them stale when
	// one is.
	//
	// A record may be held by a transaction that is still under way: a caller's own,
	// say, which may take its time. An engine must not wait long for one group and
	// thereby hold up the others. It must call the group [Busy], and have changed
	// nothing for it [commit-busy].
	//
	// An engine that can only commit so much at once calls a group that is more
	// [TooLarge]. The registry then tries again with fewer commands in a group.
	//
	// A committed group's records, deletions and events must become visible in one
	// step [commit-atomic], and must be on disk when Commit returns, on engines
	// that have one [commit-durable]. Of concurrent commits that replace the same
	// revision of a record exactly one must succeed [commit-race]. Records are
	// stored with the revision they carry [commit-revision]. A deleted record must
	// be absent afterwards; with a name its events go too, the feed's other events
	// keep their cursors, and the cursors of those that went stay good
	// [commit-delete]. A write with Renew must leave nothing of what its record was
	// before: it is a deletion, and the new record and the group's own events come after
	// it [commit-renew]. An event in Redacts must replace the one that has its cursor,
	// and keep its place; one that is gone stays so [commit-redact]. Writes with Yields are names that
	// stop being an entity's active one: an engine with a unique index on active
	// names must not trip over the order in which a group writes them
	// [commit-yields].
	//
	// An engine that fails while committing, and cannot tell what became of it,
	// must return an error that matches [ErrOutcomeUnknown].
	Commit(ctx context.Context, groups []Group) ([]Outcome, error)

	// Await is for an answer that rests on time alone: on something about these
	// records being over since end, or before, while no commit has said so. A group
	// that was decided in time may still be under way then, with its Window checked,
	// and Load does not see it yet.
	//
	// Once Await has returned without an error, every group that writes one of refs and
	// whose Window ends at end or before must be seen by every Load that begins then, or
	// never be committed: whichever process commits it, and whatever keeps it from being
	// done [await-commits]. So it waits for such groups, or sees to it that they are
	// stale; and where the engine's clock has not come to end, it waits for that too
	// [await-clock]. If that takes longer than its context lives, it must return an error
	// then [await-deadline]. It must hold up nobody but its caller.
	Await(ctx context.Context, refs []Ref, end Instant) error

	// Due returns at most limit refs of records whose Due date is at or before the
	// engine's now, earliest first [due-order]. A date is reached at its very
	// millisecond [due-exact], and a record without one is never due [due-none].
	Due(ctx context.Context, limit int) ([]Ref, error)

	// Owned returns an entity's names, active ones and aliases, in the order of
	// their keys, namespace first, at most limit of them [owned]. Names that the
	// entity has given up must not be among them [owned-given-up].
	Owned(ctx context.Context, scope string, entity Entity, limit int) ([]*NameRecord, error)

	// List returns names, or documents of one kind, in byte order of their labels:
	// canonical form within namespace for names [list-order]. It must honour every field
	// of the query [list-filter]. Resuming after the last record of a page must
	// neither skip nor repeat one that stays [list-paging].
	List(ctx context.Context, query ListQuery) ([]Record, error)

	// Events returns events behind a cursor, in an order in which each name's
	// events stand by revision, and each group's as the group lists them
	// [events-order]. A reader that resumes from the last
	// cursor it saw must be given every event exactly once, also those of
	// commits that were under way when it read [events-gapless]. It must honour
	// every field of the query [events-filter] and return each event as it was
	// committed [events-exact]. A cursor the engine never gave out is refused with
	// [ErrBadCursor] [events-cursor].
	//
	// The history of a name is read from its end: its newest event comes first, and a
	// reader that resumes from the last cursor it saw must be given every older event
	// once, whatever is committed meanwhile [events-history]. A page must cost in
	// proportion to its limit, however long the feed or the history is [events-cost].
	Events(ctx context.Context, query EventQuery) ([]Event, error)

	// Latest returns the cursor of the feed's end. All events of commits that returned
	// before the call must stand before it, and all of those that begin after it has
	// returned behind it [events-latest]. Where there is no event yet it may be empty.
	Latest(ctx context.Context) (Cursor, error)

	// Close releases what the store holds. What was committed stays: a store that
	// is opened again on the same data must have all of it, on engines that have
	// a disk [reopen]. Closing twice is allowed [close-twice].
	Close() error
}

// ErrBadCursor is returned for a cursor that this registry never gave out.
var ErrBadCursor = errors.New("dibs: no such cursor: use one from this registry, or none to begin at the beginning")

// ErrClosed is the cause of the UNAVAILABLE error after Close.
var ErrClosed = errors.New("dibs: closed")

// Snapshots is what Load returns: records of one moment, and that moment on the
// engine's clock.
type Snapshots struct {
	Now     Instant
	Records []Record
}

// Group is a set of changes that happen together or not at all.
type Group struct {
	Reads  []Read  // everything the decision rests on
	Writes []Write // everything it changes; each is among the Reads
	Events []Event // what it tells the world, in order
	// Redacts are events that were told before, of names that the group writes or of
	// entities as a whole, and what they say from now on: less. Cursor, Kind, At, ID,
	// Namespace, Canonical and Rev are as they were.
	Redacts []Event
	Window  Window // when it is right
}

// Read is a record that a decision looked at, and the revision it saw.
type Read struct {
	Ref Ref
	Rev uint64 // 0: it was absent
}

// Write is a change to one record.
type Write struct {
	Record Record
	// Delete removes the record instead of storing it.
	Delete bool
	// Renew stores the record in place of what was there under its ID, of which nothing
	// is left: not what identified it, and with a name not its events.
	Renew bool
	// Yields marks a name that was an entity's active name and is no longer that
	// entity's.
	Yields bool
}

// Window is when a decision is right: From is the first instant, Before the first
// one after it. A zero bound is open.
type Window struct {
	From, Before Instant
}

// Contains reports whether now lies within the window.
func (w Window) Contains(now Instant) bool {
	return now >= w.From && (w.Before == 0 || now < w.Before)
}

// Intersect returns the instants that lie within both windows.
func (w Window) Intersect(other Window) Window {
	return Window{From: max(w.From, other.From), Before: earlier(w.Before, other.Before)}
}

// Outcome is what became of a group.
type Outcome uint8

// The outcomes. The zero Outcome is Stale, so that a forgotten one is never taken
// for success.
const (
	Stale     Outcome = iota // something it rests on has changed; nothing was done
	Committed                // it is done
	Busy                     // a record it rests on is held by a transaction that is still under way; nothing was done, ask again
	TooLarge                 // it is more than the engine can commit at once; nothing was done, ask for less
)

// ListQuery selects records of one kind.
type ListQuery struct {
	Kind Kind

	// Namespace selects names of one namespace; empty means all. Documents have
	// none.
	Namespace string
	// States selects names in any of these states; none means all.
	States []State
	// From and To bound the canonical form or label: From is the first one
	// wanted, To the first one beyond; both are valid UTF-8. Empty means open.
	From, To string

	// After resumes behind this record. Nil means from the start.
	After *ListPosition
	Limit int // at least 1; a page is shorter only where no more follows
}

// ListPosition is a place in a listing.
type ListPosition struct {
	Namespace string // empty for documents
	Label     string // a name's canonical form, or a document's label
}

// EventQuery selects events: of the feed, oldest first, or of one name, newest first.
type EventQuery struct {
	// After resumes behind this event, in the direction of reading: with Name that is
	// towards older events, and the cursor is that of one of the name's events. Empty
	// means from the beginning of the feed, or from the end of the name's history.
	After Cursor
	Limit int // at least 1; a page is shorter only where no more follows
	Name  ID  // the history of this name; zero means the feed
}

// Pinger is an optional interface of engines that can tell whether they answer.
type Pinger interface {
	Ping(ctx context.Context) error
}

// Scrubber is an optional interface of engines that can see to it that nothing of what was
// deleted is left in their files.
type Scrubber interface {
	Scrub(ctx context.Context) error
}

// Clock is an optional interface of engines that can tell their time without being
// asked over the wire. Now estimates the clock that Commit checks windows against; ok
// is false while there is no estimate. A wrong one does no harm but that commits are
// stale. With it the registry can decide before it has loaded anything, on guesses
// that Commit checks: what is common then costs one call instead of two.
type Clock interface {
	Now() (now Instant, ok bool)
}

// Parallel is an optional interface of engines that take several commits at once.
// Writers returns how many batches they like to have under way; see
// [Config.Writers].
type Parallel interface {
	Writers() int
}

// Waker is an optional interface of engines that learn of other processes'
// commits. Wake returns a channel that receives when there may be new events, until
// the context ends. It is a hint: readers look by themselves from time to time.
type Waker interface {
	Wake(ctx context.Context) <-chan struct{}
}
