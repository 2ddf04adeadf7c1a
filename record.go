package dibs

import (
	"time"
)

// State is what a name is to the rest of the world.
type State string

// The states of a name.
const (
	Free        State = "free"        // anyone can have it
	Held        State = "held"        // reserved, until ExpiresAt
	Suspect     State = "suspect"     // reserved, past its time, waiting for a witness
	Active      State = "active"      // an entity's name
	Alias       State = "alias"       // an entity's former name, redirecting
	Quarantined State = "quarantined" // given up; only its last entity can have it back, until a date
)

// Status is what became of a name's last reservation.
type Status string

// The statuses of a reservation.
const (
	StatusReserved  Status = "reserved"
	StatusSuspect   Status = "suspect"
	StatusConfirmed Status = "confirmed"
	StatusReleased  Status = "released"
	StatusExpired   Status = "expired"
)

// Kind says what a record is about.
type Kind string

// The kinds of record. Kinds other than names and entities are [Document]s: an
// engine need not know them one by one, and must accept kinds it has never seen.
const (
	KindName   Kind = "name"
	KindEntity Kind = "entity"
	KindFloor  Kind = "floor" // a namespace's highest purged epoch and revision, and its rules
	KindQuota  Kind = "quota" // one principal's live holds in a namespace
	KindTally  Kind = "tally" // refused attempts in one hour

	KindSkeleton Kind = "skeleton" // the names that look alike
	KindHash     Kind = "hash"     // the name behind a keyed hash, in a blind namespace
)

// Ref addresses a record: what kind, in which scope, and its ID.
type Ref struct {
	Kind  Kind
	Scope string
	ID    ID
}

// Record is a [*NameRecord], an [*EntityRecord] or a [*Document]. Records are
// immutable once handed over: neither engine nor rules change one in place.
type Record interface {
	// Ref returns the record's address.
	Ref() Ref
	// Revision returns how often the record was changed. It only ever goes up;
	// 0 is the revision of what is not there.
	Revision() uint64

	record()
}

// NameRecord is one row per key. It stays when the name becomes free, and keeps
// its epoch; the next hold overwrites the rest.
type NameRecord struct {
	ID        ID
	Rev       uint64
	Namespace string
	Scope     string // the namespace's scope
	Value     string // what the person wrote
	Canonical string // what is unique, byte for byte
	Profile   string // the profile, with its version, that made it canonical

	State     State
	Status    Status
	Epoch     uint64  // goes up with each new hold or owner
	CreatedAt Instant // when this epoch's hold or ownership began

	// The hold, kept after its end so that its holder can be answered.
	Token         TokenHash
	Principal     string
	Intended      Entity // the owner-to-be that Reserve named, or none
	CorrelationID string
	Meta          map[string]string
	ExpiresAt     Instant

	// Asked counts how often the witness did not know; AskAt is when it is asked
	// next, and Doubt says why the name is still suspect.
	Asked int
	AskAt Instant
	Doubt string

	// The owner of an active name or an alias; the last owner of one that was
	// given up.
	Owner       Entity
	ConfirmedAt Instant // when this epoch was confirmed, if it was
	EndedAt     Instant // when it was released, expired or given up

	// Line ties an alias to its successors where an entity has many names: all
	// names of one line follow each other, and only the last one is active.
	Line ID

	// Until ends a quarantine, or an alias's redirecting. On a hold taken out of
	// quarantine it is the date of that quarantine, to go back to.
	Until Instant

	// Terms are the parts of the policy that decide what happens later. They are
	// stamped on the row so that a process with other settings cannot misjudge it.
	Terms Terms

	// Established says that the name was confirmed at some time: its history is
	// kept for ever.
	Established bool

	// Links tie the row to other records. Most have none.
	Links []Link

	// Spent are the tokens of holds before the last one, oldest first. Most rows have none.
	Spent []SpentToken

	// Due is when the sweeper has to look at the row next, or zero.
	Due Instant
}

// Terms are the settings of a policy that decide a row's fate after it was
// written.
type Terms struct {
	Witnessed   bool          // a lapsed hold becomes suspect
	Many        bool          // its entity may have several active names here
	Counted     bool          // the hold stands in its principal's quota
	Quarantine  time.Duration // for an alias given up by time; whole milliseconds
	HoldHistory time.Duration // how long a row that was never confirmed is kept; whole milliseconds
}

// Ref returns the record's address.
func (n *NameRecord) Ref() Ref { return Ref{KindName, n.Scope, n.ID} }

// Revision returns the record's revision.
func (n *NameRecord) Revision() uint64 { return n.Rev }

func (n *NameRecord) record() {}

// Key returns namespace:canonical.
func (n *NameRecord) Key() string { return n.Namespace + ":" + n.Canonical }

// EntityRecord carries what is true of an entity as a whole. Every change to its
// names writes it, so its revision is the entity's version, and a decision that
// read it notices any such change.
type EntityRecord struct {
	ID       ID
	Rev      uint64
	Scope    string
	Entity   Entity
	Archived bool
	Deleted  bool

	// Active maps a namespace (or a line of one, see [NameRecord.Line]) to the
	// entity's active name there. It keeps "one active name" true also on
	// engines without unique indexes.
	Active map[string]ID

	// Due is when the sweeper has to look at the entity next: while names of a
	// deleted one are left.
	Due Instant
}

// Ref returns the record's address.
func (e *EntityRecord) Ref() Ref { return Ref{KindEntity, e.Scope, e.ID} }

// Revision returns the record's revision, which is the entity's version.
func (e *EntityRecord) Revision() uint64 { return e.Rev }

func (e *EntityRecord) record() {}

// Document is a record of any other kind. Engines store it without looking into
// Data.
type Document struct {
	Kind  Kind
	Scope string
	ID    ID
	Rev   uint64
	// Label is what listings are ordered by, byte for byte: UTF-8 without control
	// characters. No two of a kind share one.
	Label string
	// Due is when the sweeper has to look at the document, or zero.
	Due  Instant
	Data []byte
}

// Ref returns the document's address.
func (d *Document) Ref() Ref { return Ref{d.Kind, d.Scope, d.ID} }

// Revision returns the document's revision.
func (d *Document) Revision() uint64 { return d.Rev }

func (d *Document) record() {}
