package dibs

import (
	"context"
	"time"
)

// Backend is what stands behind a Registry: the embedded core, or a client that
// speaks to a server. All methods are safe for concurrent use.
type Backend interface {
	// Apply decides commands and commits them, all or nothing, or only decides
	// them in a dry run.
	Apply(ctx context.Context, request ApplyRequest) ([]Result, error)
	// Check says whether values could be reserved.
	Check(ctx context.Context, request CheckRequest) ([]Availability, error)
	// Resolve says what a name leads to.
	Resolve(ctx context.Context, namespace, value string) (Resolution, error)
	// Get returns a name by its ID, or by namespace and value where the ID is zero.
	Get(ctx context.Context, lookup Lookup) (Name, error)
	// Entity returns an entity with its names.
	Entity(ctx context.Context, scope string, entity Entity) (EntityInfo, error)
	// List returns a page of names.
	List(ctx context.Context, query NamesQuery) (NamesPage, error)
	// History returns a page of a name's events, the newest first.
	History(ctx context.Context, query HistoryQuery) (HistoryPage, error)
	// WhoHeld returns who had a name at a moment.
	WhoHeld(ctx context.Context, namespace, value string, at time.Time) (Holder, error)
	// Events returns a page of the feed. With wait it blocks until there is one.
	Events(ctx context.Context, query FeedQuery, wait bool) (EventPage, error)
	// Stats counts the names there are.
	Stats(ctx context.Context) (Stats, error)
	// Conflicts returns how many attempts were refused, and why.
	Conflicts(ctx context.Context, query ConflictsQuery) ([]ConflictBucket, error)
	// Recanonicalize brings the names of a namespace under its present rules.
	Recanonicalize(ctx context.Context, request RecanonicalizeRequest) (Recanonicalization, error)
	// Forget erases a person, or a name.
	Forget(ctx context.Context, request ForgetRequest) (Forgetting, error)
	// Sweep ends what is over.
	Sweep(ctx context.Context, limit int) (SweepReport, error)
	// Close releases the backend.
	Close() error
}

// EmbeddedBackend is a [Backend] in this process: it has the policies, and can join a
// transaction of the caller's.
type EmbeddedBackend interface {
	Backend
	// SetPolicies, Policy and CheckPolicies are the Registry's methods of these names.
	SetPolicies(byNamespace map[string]Policy, fallback Policy) error
	Policy(namespace string) (Policy, error)
	CheckPolicies(ctx context.Context, byNamespace map[string]Policy, fallback Policy) error
	// InTransaction returns a backend on the store that bind returns.
	InTransaction(bind func(Store) (Store, error)) (Backend, error)
	// IsBound reports whether this backend is bound to a transaction.
	IsBound() bool
}

// ApplyRequest is a list of commands on behalf of a principal.
type ApplyRequest struct {
	Principal Principal
	Commands  []Command
	DryRun    bool
}

// CheckRequest asks whether values could be reserved.
type CheckRequest struct {
	Namespace string
	Values    []string // at most 100
	// Entity is who would own the name: its own quarantine does not keep it out.
	Entity Entity
	// Suggest is how many free names to offer for each value that is not
	// available, 10 at the most.
	Suggest int
	// Parts are what the suggestions may be made from, such as a surname, a city or a
	// year: 8 at the most, the best first. Numbers and random letters come after them.
	Parts []string
}

// Availability says whether a value could be reserved, when it was asked.
type Availability struct {
	Value       string
	Canonical   string // empty where the value is not valid
	Available   bool
	Reason      Reason    // why not
	Detail      string    // the same for a person
	Until       time.Time // when it may become free, if a date is known
	Suggestions []string  // names that were free when asked
	Refusal     *Refusal  // of a value that is not valid: which rule, where, and what would be accepted
}

// Lookup addresses a name by ID, or by namespace and value.
type Lookup struct {
	ID         ID
	Namespace  string
	Value      string
	ActiveOnly bool // a name that is not active counts as not found
	Version    bool // also tell the version of the entity that owns it, which is one more read
	// Visible says in which namespaces a name may be found; elsewhere it counts as not found.
	// Nil means everywhere.
	Visible func(namespace string) bool
}

// Shows reports whether a name that was found is one that is looked for.
func (l Lookup) Shows(n Name) bool {
	return (!l.ActiveOnly || n.State == Active) && l.Sees(n.Namespace)
}

// Sees reports whether names of a namespace can be found.
func (l Lookup) Sees(namespace string) bool { return l.Visible == nil || l.Visible(namespace) }

// EntityInfo is an entity with its names.
type EntityInfo struct {
	Entity   Entity
	Scope    string
	Archived bool
	Version  uint64
	Names    []Name // active names and aliases, by key; 10,000 at the most
	More     bool   // there are more: list its namespaces to see them
}

// NamesQuery selects names.
type NamesQuery struct {
	Namespace string // empty means all
	State     State  // empty means all that are not free
	Prefix    string // of the canonical form
	Limit     int    // zero means 100; 1,000 at the most
	Cursor    string // NamesPage.Next of the page before; empty means the first
}

// NamesPage is a page of a listing, ordered by namespace and canonical form.
type NamesPage struct {
	Names []Name
	Next  string // the cursor of the next page; empty where there is none
}

// FeedQuery selects events of the feed.
type FeedQuery struct {
	After     Cursor // resume behind this; empty means from the beginning, [Latest] from now on
	Namespace string // only names of this namespace; empty means everything
	Limit     int    // zero means 100; 1,000 at the most
}

// EventPage is a page of the feed.
type EventPage struct {
	Events []Event
	Next   Cursor // resume here, also if the page is empty
	// More says that the page ends before the feed does: at its limit, or because a call
	// looks at 1,000 events at the most, however few of them are of the namespace that was
	// asked for. So a page may be empty and the end not reached.
	More bool
	// Generation is another number when answers may have changed without an event,
	// because policies did. Zero means that nobody knows: the policies are a server's.
	Generation uint64
}

// ResolveOutcome is what a name leads to.
type ResolveOutcome string

// What a name can lead to.
const (
	ResolveActive   ResolveOutcome = "active"    // the entity's name
	ResolveMoved    ResolveOutcome = "moved"     // the entity has another name now
	ResolveGone     ResolveOutcome = "gone"      // it led somewhere once
	ResolveNotFound ResolveOutcome = "not_found" // it leads nowhere
)

// Resolution is where a name leads.
type Resolution struct {
	Outcome   ResolveOutcome
	Canonical string // of the name that was asked for
	Entity    Entity // of an active or moved one
	// To is the active name that a moved one leads to: one hop, by entity.
	To *Name
	// Until is when that ends by itself: an old name redirects for some time only, or a
	// quarantine ends. Zero means by a command alone.
	Until time.Time
	// Age is how old the answer may be. Zero means that it was so when it was asked for;
	// others come from a cache.
	Age time.Duration
	// Status is the HTTP status that the namespace's policy wants: 200, 301, 404…
	Status int
}

// Holder is who had a name at a moment.
type Holder struct {
	State  State  // [Free] where nobody had it
	Entity Entity // the owner, or the owner-to-be of a hold; zero where none was known
	Epoch  uint64
	Since  time.Time // when that began
}

// SweepReport says what a sweep did.
type SweepReport struct {
	Looked   int // records whose date had come
	Changed  int // of them, those that were ended, given up, freed or purged
	Suspects int // lapsed holds that wait for a witness
	Settled  int // of them, those that a witness ended now
	// More says that the limit was reached: there may be more to do.
	More bool
	Took time.Duration
}
