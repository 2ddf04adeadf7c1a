package dibs

import "time"

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

// HistoryQuery selects events of one name.
type HistoryQuery struct {
	Namespace string
	Value     string
	Limit     int    // zero means 1,000, which is also the most
	Cursor    string // HistoryPage.Next of the page with newer events; empty means the newest
}

// HistoryPage is a part of a name's history: the newest events, or those that come before
// another page.
type HistoryPage struct {
	Events []Event // oldest first
	Next   string  // the cursor of the page with older events; empty where there is none
}

// ConflictsQuery selects conflict counters.
type ConflictsQuery struct {
	Namespace string    // empty means all
	From, To  time.Time // every hour that touches this span; zero means open
}

// ConflictBucket counts the refused attempts of one namespace, reason and hour.
type ConflictBucket struct {
	Start time.Time // the hour's beginning
	// Namespace is "*" where there were too many namespaces to tell apart, and "acme.*" where
	// too many of them began with acme.
	Namespace string
	// Reason is the [Reason] for a taken name; otherwise the error's code in lower
	// case.
	Reason string
	Count  uint64
}

// Stats counts the names there are, at one moment or nearly so.
type Stats struct {
	Names []NameCount // by namespace and state; what nobody has is left out
	// EndingSoon is how many holds end within a minute.
	EndingSoon int
}

// NameCount is how many names of a namespace are in a state.
type NameCount struct {
	Namespace string
	State     State
	Count     int
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
