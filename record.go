package dibs

import "time"

// Kind says what a record is about.
type Kind string

// The kinds of record. All kinds other than names and entities are [Document]s; an engine must
// accept kinds that it does not know.
const (
	KindName      Kind = "name"
	KindEntity    Kind = "entity"
	KindNamespace Kind = "floor"    // the namespace record; data of earlier versions has it as "floor"
	KindQuota     Kind = "quota"    // the live holds of a principal in a namespace
	KindTally     Kind = "tally"    // the refused attempts of one hour
	KindActivity  Kind = "activity" // what happened in one minute or hour

	KindSkeleton Kind = "skeleton" // index: names that look alike
	KindHash     Kind = "hash"     // index: the name with a keyed hash, in a blind namespace
)

// Ref is the address of a record.
type Ref struct {
	Kind  Kind
	Scope string
	ID    ID
}

// Record is a [*NameRecord], an [*EntityRecord] or a [*Document]. Neither the engine nor the
// rules change a record after they have passed it on.
type Record interface {
	// Ref returns the record's address.
	Ref() Ref
	// Revision goes up with each change of the record. 0 means that the record is absent.
	Revision() uint64

	record()
}

// NameRecord is the row of a key. It stays when the name becomes free, and keeps its epoch; the
// next hold overwrites the rest.
type NameRecord struct {
	ID        ID
	Rev       uint64
	Namespace string
	Scope     string // the namespace's scope
	Value     string // as the person wrote it
	Canonical string // unique within the namespace, byte for byte
	Profile   string // the profile that made it canonical, with its version

	State     State
	Status    Status
	Epoch     uint64  // goes up with each new hold or owner
	CreatedAt Instant // when the hold or ownership of this epoch began

	// The hold. It is kept after its end, to answer retries.
	Token         TokenHash
	Principal     string
	Intended      Entity // the intended owner that Reserve named, or none
	CorrelationID string
	Meta          map[string]string
	ExpiresAt     Instant

	// Asked counts how often the witness had no verdict. AskAt is when it is asked next. Doubt
	// says why the name is still suspect.
	Asked int
	AskAt Instant
	Doubt string

	// Owner has an active name or an alias; for a name that was given up it is the last owner.
	Owner       Entity
	ConfirmedAt Instant // when this epoch was confirmed; zero if it was not
	EndedAt     Instant // when it was released, expired or given up; zero if it was not

	// Line ties an alias to its successors if an entity has many names: each name of a line
	// replaced the one before it, and only the last one is active.
	Line ID
	// Until is the end of a quarantine or of an alias. For a hold on a quarantined name it is
	// the end of that quarantine, which continues when the hold is over.
	Until Instant
	// Terms are stored with the row, so that a process with other settings decides alike.
	Terms Terms
	// Established says that the name was confirmed at some time: its history is kept for ever.
	Established bool
	// Links tie the row to other records. Most rows have none.
	Links []Link
	// Spent are the tokens of holds before the last one, oldest first. Most rows have none.
	Spent []SpentToken

	// Due is when the sweeper processes the row next. Zero means never.
	Due Instant
}

// Terms are the settings of a policy that apply to a row after it was written.
type Terms struct {
	Witnessed   bool          // a lapsed hold becomes suspect
	Many        bool          // its entity may have several active names here
	Counted     bool          // the hold counts towards its principal's quota
	Quarantine  time.Duration // after the end of an alias; whole milliseconds
	HoldHistory time.Duration // how long a row that was never confirmed is kept; whole milliseconds
}

// Ref returns the record's address.
func (n *NameRecord) Ref() Ref { return Ref{KindName, n.Scope, n.ID} }

// Revision returns the record's revision.
func (n *NameRecord) Revision() uint64 { return n.Rev }

func (n *NameRecord) record() {}

// Key returns namespace:canonical.
func (n *NameRecord) Key() string { return n.Namespace + ":" + n.Canonical }

// EntityRecord is the row of an entity. Every change to the entity's names writes it, so its
// revision is the entity's version, and Commit rejects decisions on an older one.
type EntityRecord struct {
	ID       ID
	Rev      uint64
	Scope    string
	Entity   Entity
	Archived bool
	Deleted  bool

	// Active maps a namespace (or a line of one, see [NameRecord.Line]) to the entity's active
	// name there. It ensures one active name on engines without unique indexes too.
	Active map[string]ID

	// Due is when a sweep gives up more names of a deleted entity. Zero means never.
	Due Instant
}

// Ref returns the record's address.
func (e *EntityRecord) Ref() Ref { return Ref{KindEntity, e.Scope, e.ID} }

// Revision returns the record's revision, which is the entity's version.
func (e *EntityRecord) Revision() uint64 { return e.Rev }

func (e *EntityRecord) record() {}

// Document is a record of any other kind. Engines do not interpret Data.
type Document struct {
	Kind  Kind
	Scope string
	ID    ID
	Rev   uint64
	// Label orders listings byte for byte. UTF-8 without control characters, unique per kind.
	Label string
	// Due is when the sweeper processes the document next. Zero means never.
	Due  Instant
	Data []byte
}

// Ref returns the document's address.
func (d *Document) Ref() Ref { return Ref{d.Kind, d.Scope, d.ID} }

// Revision returns the document's revision.
func (d *Document) Revision() uint64 { return d.Rev }

func (d *Document) record() {}
