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
