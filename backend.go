package dibs

import (
	"context"
	"time"
)

// Backend does the work of a [Registry]: the embedded core, or a client of a server. All
// methods must be safe for concurrent use.
type Backend interface {
	// Apply decides commands and commits all of them or none. In a dry run it only decides.
	Apply(ctx context.Context, request ApplyRequest) ([]Result, error)
	// ImportAll enters names, each by itself, in order.
	ImportAll(ctx context.Context, request ImportRequest) ([]Imported, error)
	// Check says whether values could be reserved.
	Check(ctx context.Context, request CheckRequest) ([]Availability, error)
	// Resolve says where a name leads.
	Resolve(ctx context.Context, namespace, value string) (Resolution, error)
	// Get returns a name by its ID, or by namespace and value if the ID is zero.
	Get(ctx context.Context, lookup Lookup) (Name, error)
	// Entity returns an entity with its names.
	Entity(ctx context.Context, scope string, entity Entity) (EntityInfo, error)
	// List returns a page of names.
	List(ctx context.Context, query NamesQuery) (NamesPage, error)
	// History returns a page of a name's events. The first page has the newest.
	History(ctx context.Context, query HistoryQuery) (HistoryPage, error)
	// WhoHeld returns the owner or holder of a name at a moment.
	WhoHeld(ctx context.Context, namespace, value string, at time.Time) (Holder, error)
	// Events returns a page of the feed. With wait it blocks until there is an event.
	Events(ctx context.Context, query FeedQuery, wait bool) (EventPage, error)
	// Stats counts names.
	Stats(ctx context.Context) (Stats, error)
	// Conflicts returns how many attempts were refused, and why.
	Conflicts(ctx context.Context, query ConflictsQuery) ([]ConflictBucket, error)
	// Activity returns how much happened, by namespace and minute or hour.
	Activity(ctx context.Context, query ActivityQuery) (Activity, error)
	// Recanonicalize brings the names of a namespace under its present rules.
	Recanonicalize(ctx context.Context, request RecanonicalizeRequest) (Recanonicalization, error)
	// Forget erases a person or a name.
	Forget(ctx context.Context, request ForgetRequest) (Forgetting, error)
	// Sweep processes up to limit records whose time is over.
	Sweep(ctx context.Context, limit int) (SweepReport, error)
	// Close releases the backend.
	Close() error
}

// EmbeddedBackend is a [Backend] in this process: it has the policies, and can join a
// transaction of the caller.
type EmbeddedBackend interface {
	Backend
	// Policy, SetPolicies and CheckPolicies are the methods of [Registry] with these names.
	Policy(namespace string) (Policy, error)
	SetPolicies(byNamespace map[string]Policy, fallback Policy) error
	CheckPolicies(ctx context.Context, byNamespace map[string]Policy, fallback Policy) error
	// InTransaction returns a backend on the store that bind returns.
	InTransaction(bind func(Store) (Store, error)) (Backend, error)
	// IsBound reports whether this backend is bound to a transaction.
	IsBound() bool
}

// ApplyRequest is a list of commands on behalf of a principal.
type ApplyRequest struct {
	Principal Principal // the zero Principal has no name and no rights
	Commands  []Command // 1 to 32
	DryRun    bool      // decide only, commit nothing
}

// ImportRequest is a list of imports on behalf of a principal.
type ImportRequest struct {
	Principal Principal // the Registry sets it
	Imports   []Import  // 1 to 10,000
	DryRun    bool      // decide only, each as if the others were not there
}

// FailingBackend returns a backend whose every method returns err, except for Close. A Registry
// that cannot join a transaction has one.
func FailingBackend(err error) Backend { return failing{err} }

type failing struct{ err error }

type ctx = context.Context // keeps each method below on one line

func (f failing) Apply(ctx, ApplyRequest) ([]Result, error)                  { return nil, f.err }
func (f failing) ImportAll(ctx, ImportRequest) ([]Imported, error)           { return nil, f.err }
func (f failing) Check(ctx, CheckRequest) ([]Availability, error)            { return nil, f.err }
func (f failing) Resolve(ctx, string, string) (r Resolution, _ error)        { return r, f.err }
func (f failing) Get(ctx, Lookup) (n Name, _ error)                          { return n, f.err }
func (f failing) Entity(ctx, string, Entity) (e EntityInfo, _ error)         { return e, f.err }
func (f failing) List(ctx, NamesQuery) (p NamesPage, _ error)                { return p, f.err }
func (f failing) History(ctx, HistoryQuery) (p HistoryPage, _ error)         { return p, f.err }
func (f failing) WhoHeld(ctx, string, string, time.Time) (h Holder, _ error) { return h, f.err }
func (f failing) Events(ctx, FeedQuery, bool) (p EventPage, _ error)         { return p, f.err }
func (f failing) Stats(ctx) (s Stats, _ error)                               { return s, f.err }
func (f failing) Conflicts(ctx, ConflictsQuery) ([]ConflictBucket, error)    { return nil, f.err }
func (f failing) Activity(ctx, ActivityQuery) (a Activity, _ error)          { return a, f.err }
func (f failing) Forget(ctx, ForgetRequest) (r Forgetting, _ error)          { return r, f.err }
func (f failing) Sweep(ctx, int) (r SweepReport, _ error)                    { return r, f.err }
func (f failing) Close() error                                               { return nil }
func (f failing) Recanonicalize(ctx, RecanonicalizeRequest) (r Recanonicalization, _ error) {
	return r, f.err
}
