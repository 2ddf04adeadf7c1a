package dibs

import "time"

// CheckRequest asks whether values could be reserved.
type CheckRequest struct {
	Namespace string
	Values    []string // at most 100
	Entity    Entity   // the intended owner: its own quarantined names are available; zero means none
	Suggest   int      // how many free names to offer for each unavailable value, at most 10
	// Parts are words to make suggestions from, such as a surname, a city or a year: at most 8,
	// the best first. Numbers and random letters come after them.
	Parts []string
}

// Availability says whether a value could be reserved at the time of the request.
type Availability struct {
	Value       string
	Canonical   string // empty if the value is not valid
	Available   bool
	Reason      Reason    // why not
	Detail      string    // the same for a person
	Until       time.Time // when the name may become free; zero if that is unknown
	Suggestions []string  // names that were free
	Refusal     *Refusal  // for an invalid value: which rule, where, and what would be accepted; else nil
}

// Lookup addresses a name by ID, or by namespace and value if the ID is zero.
type Lookup struct {
	ID         ID
	Namespace  string
	Value      string
	ActiveOnly bool // only an active name is found
	Version    bool // also return the owner's version, and whether it is archived, which costs one more read
	// Visible reports whether names of a namespace can be found. Nil means that all can.
	Visible func(namespace string) bool
}

// Shows reports whether the lookup may return this name.
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
	Names    []Name // active names and aliases, ordered by key; at most 10,000
	More     bool   // there are more: List returns them
}

// NamesQuery selects names.
type NamesQuery struct {
	Namespace    string        // empty means all
	State        State         // empty means all except [Free]
	Prefix       string        // of the canonical form; empty means all
	Limit        int           // zero means 100; at most 1,000
	Cursor       string        // [NamesPage.Next] of the previous page; empty means the first page
	EndingWithin time.Duration // selects the holds that end within it, soonest first, on one page
}

// NamesPage is a page of a listing, ordered by namespace and canonical form.
type NamesPage struct {
	Names []Name
	Next  string // the cursor of the next page; empty on the last page
}

// ResolveOutcome says what kind of answer a [Resolution] is.
type ResolveOutcome string

// The outcomes of Resolve.
const (
	ResolveActive   ResolveOutcome = "active"    // the active name of an entity
	ResolveMoved    ResolveOutcome = "moved"     // the entity has another name now
	ResolveGone     ResolveOutcome = "gone"      // the name led to an entity once
	ResolveNotFound ResolveOutcome = "not_found" // the name leads nowhere
)

// Resolution is where a name leads.
type Resolution struct {
	Outcome   ResolveOutcome
	Canonical string // of the requested name
	Entity    Entity // the owner of an active or moved name; else zero
	Archived  bool   // why it does not resolve: its owner is archived; a server tells callers with the right to get it
	// To is the active name that a moved name leads to, always in one hop. Nil otherwise.
	To *Name
	// Until is when the answer ends by itself: the end of a redirect or of a quarantine. Zero
	// means that only a command ends it.
	Until time.Time
	Age   time.Duration // how old the answer may be; zero unless a cache answered
	// Status is the HTTP status by the namespace's policy, such as 200, 301 or 404.
	Status int
}

// Holder is the owner or holder of a name at a moment.
type Holder struct {
	State  State  // [Free] if the name was free
	Entity Entity // the owner, or the intended owner of a hold; zero if unknown
	Epoch  uint64
	Since  time.Time // when that state began
}

// HistoryQuery selects events of one name.
type HistoryQuery struct {
	Namespace string
	Value     string
	Limit     int    // zero means 1,000, which is also the maximum
	Cursor    string // [HistoryPage.Next] of a page; empty means the newest events
}

// HistoryPage is a part of a name's history: the newest events, or those before another page.
type HistoryPage struct {
	Events []Event // oldest first
	Next   string  // the cursor of the page with older events; empty if there are none
}

// ConflictsQuery selects conflict counters.
type ConflictsQuery struct {
	Namespace string    // empty means all
	From, To  time.Time // selects every hour that overlaps this span; zero means open
}

// ConflictBucket counts the refused attempts of one namespace, reason and hour.
type ConflictBucket struct {
	Start time.Time // the beginning of the hour
	// Namespace is "*" if there were too many namespaces to count each, and "acme.*" if too
	// many of them begin with "acme.".
	Namespace string
	// Reason is the [Reason] for a taken name, otherwise the error's code in lower case.
	Reason string
	Count  uint64
}

// ActivityQuery selects activity counters.
type ActivityQuery struct {
	Namespace string        // empty means all
	Per       time.Duration // time.Minute or time.Hour; zero means a minute
	From, To  time.Time     // selects every bucket that overlaps this span; zero means open
}

// Activity counts what happened. Minutes are kept for two hours, hours for eight days.
type Activity struct {
	From, To time.Time // from the start of the first bucket to the end, or to the engine's now
	Buckets  []ActivityBucket
}

// ActivityBucket counts what happened in one namespace, in one minute or hour.
type ActivityBucket struct {
	Start     time.Time
	Namespace string               // as in [ConflictBucket]; empty for events about an entity
	Events    map[EventKind]uint64 // by when they were committed
	Refused   uint64               // attempts, as Conflicts counts them
}

// Stats counts names at about one moment.
type Stats struct {
	Names []NameCount // by namespace and state; free names do not count
	// EndingSoon is how many holds end within a minute.
	EndingSoon int
}

// NameCount is the number of names of a namespace in a state.
type NameCount struct {
	Namespace string
	State     State
	Count     int
}

// SweepReport says what a sweep did.
type SweepReport struct {
	Looked   int  // records that were due
	Changed  int  // those of them that were ended, given up, freed or purged
	Suspects int  // lapsed holds that wait for a witness
	Settled  int  // those of them that a witness ended now
	More     bool // the limit was reached: more records may be due
	Took     time.Duration
}
