package dibs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"
)

// Registry hands out names. It is safe for concurrent use. Make one with package embedded.
type Registry struct {
	backend   Backend
	principal Principal
}

// NewRegistry returns a Registry over a backend of its own, such as a client of a
// server. Most programs want package embedded.
func NewRegistry(backend Backend) *Registry {
	// Who embeds the library is trusted; As hands out less.
	return &Registry{backend: backend, principal: Principal{Rights: OverrideReserved | Operate}}
}

// As returns a Registry that acts for a principal, with the rights it has and no
// others. Both share everything else; close only one.
func (r *Registry) As(principal Principal) *Registry {
	return &Registry{backend: r.backend, principal: principal}
}

// Close answers what is under way, refuses what waits, and closes the engine.
func (r *Registry) Close() error { return r.backend.Close() }

// Apply decides commands one after another, each seeing what those before it did,
// and commits all of them or none. The error names every command that was refused;
// of those behind the first, some may be refused only because of it.
func (r *Registry) Apply(ctx context.Context, commands ...Command) ([]Result, error) {
	return r.backend.Apply(ctx, ApplyRequest{Principal: r.principal, Commands: values(commands)})
}

// DryRun decides commands as Apply does, and commits nothing.
func (r *Registry) DryRun(ctx context.Context, commands ...Command) ([]Result, error) {
	return r.backend.Apply(ctx, ApplyRequest{Principal: r.principal, Commands: values(commands), DryRun: true})
}

// values returns the commands with pointers replaced by what they point to; nil for a nil
// pointer.
func values(commands []Command) []Command {
	isPointer := func(c Command) bool { return reflect.ValueOf(c).Kind() == reflect.Pointer }
	if !slices.ContainsFunc(commands, isPointer) {
		return commands
	}
	plain := slices.Clone(commands)
	for i, c := range plain {
		if !isPointer(c) {
			continue
		}
		plain[i] = nil
		if v := reflect.ValueOf(c).Elem(); v.IsValid() {
			plain[i], _ = reflect.TypeAssert[Command](v)
		}
	}
	return plain
}

// one applies a single command.
func (r *Registry) one(ctx context.Context, command Command) (Result, error) {
	results, err := r.Apply(ctx, command)
	if err != nil {
		return Result{}, err
	}
	return results[0], nil
}

// oneName applies a single command that is about one name.
func (r *Registry) oneName(ctx context.Context, command Command) (Name, error) {
	result, err := r.one(ctx, command)
	if err != nil {
		return Name{}, err
	}
	return result.Names[0], nil
}

// oneHold applies a single command that reserves one name.
func (r *Registry) oneHold(ctx context.Context, command Command) (Hold, error) {
	result, err := r.one(ctx, command)
	if err != nil {
		return Hold{}, err
	}
	return result.hold(0), nil
}

// Reserve holds a name for a limited time.
func (r *Registry) Reserve(ctx context.Context, command Reserve) (Hold, error) {
	return r.oneHold(ctx, command)
}

// ReserveAll holds several names, all of them or none, with one token.
func (r *Registry) ReserveAll(ctx context.Context, command ReserveAll) ([]Hold, error) {
	result, err := r.one(ctx, command)
	if err != nil {
		return nil, err
	}
	holds := make([]Hold, len(result.Names))
	for i := range holds {
		holds[i] = result.hold(i)
	}
	return holds, nil
}

// ReserveFirst holds the first candidate that is available.
func (r *Registry) ReserveFirst(ctx context.Context, command ReserveFirst) (Hold, error) {
	return r.oneHold(ctx, command)
}

// Extend moves the end of a hold.
func (r *Registry) Extend(ctx context.Context, command Extend) (Name, error) {
	return r.oneName(ctx, command)
}

// Confirm makes a held name the active name of an entity.
func (r *Registry) Confirm(ctx context.Context, command Confirm) (Name, error) {
	return r.oneName(ctx, command)
}

// Release lets a hold go.
func (r *Registry) Release(ctx context.Context, command Release) (Name, error) {
	return r.oneName(ctx, command)
}

// Claim takes a free name for an entity at once.
func (r *Registry) Claim(ctx context.Context, command Claim) (Name, error) {
	return r.oneName(ctx, command)
}

// Rename gives an entity another name; the present one becomes an alias.
func (r *Registry) Rename(ctx context.Context, command Rename) (Name, error) {
	return r.oneName(ctx, command)
}

// Archive is the soft delete of an entity.
func (r *Registry) Archive(ctx context.Context, command Archive) (Result, error) {
	return r.one(ctx, command)
}

// Restore undoes an Archive.
func (r *Registry) Restore(ctx context.Context, command Restore) (Result, error) {
	return r.one(ctx, command)
}

// Delete is the hard delete of an entity: its names become quarantined or free.
func (r *Registry) Delete(ctx context.Context, command Delete) (Result, error) {
	return r.one(ctx, command)
}

// Decommission gives up one name of an entity.
func (r *Registry) Decommission(ctx context.Context, command Decommission) (Name, error) {
	return r.oneName(ctx, command)
}

// Transfer gives one name of an entity to another.
func (r *Registry) Transfer(ctx context.Context, command Transfer) (Name, error) {
	return r.oneName(ctx, command)
}

// Swap lets two entities exchange active names.
func (r *Registry) Swap(ctx context.Context, command Swap) (Result, error) {
	return r.one(ctx, command)
}

// Rekey files a name of a blind namespace under its present keys.
func (r *Registry) Rekey(ctx context.Context, command Rekey) (Name, error) {
	return r.oneName(ctx, command)
}

// Settle ends a suspect by an operator's word.
func (r *Registry) Settle(ctx context.Context, command Settle) (Name, error) {
	return r.oneName(ctx, command)
}

// Sweep ends up to limit things that are over. Nothing waits for it: a name is free
// the instant its hold is over. It keeps rows and history tidy, and asks the
// witnesses.
func (r *Registry) Sweep(ctx context.Context, limit int) (SweepReport, error) {
	if limit < 1 {
		return SweepReport{}, fmt.Errorf("dibs: a sweep's limit is %d, it must be at least 1", limit)
	}
	return r.backend.Sweep(ctx, limit)
}

// Recanonicalize brings the names of a namespace under the rules that its policy has
// now, or says what that would do. It takes the right [Operate].
func (r *Registry) Recanonicalize(ctx context.Context, request RecanonicalizeRequest) (Recanonicalization, error) {
	if !r.principal.HasIn(request.Namespace, Operate) {
		return Recanonicalization{}, mustOperate("changing the rules of a namespace")
	}
	return r.backend.Recanonicalize(ctx, request)
}

// Forget erases a person, or one name, or says what that would erase. It takes the right
// [Operate].
func (r *Registry) Forget(ctx context.Context, request ForgetRequest) (Forgetting, error) {
	if !r.principal.HasIn(request.Namespace, Operate) {
		return Forgetting{}, mustOperate("forgetting")
	}
	return r.backend.Forget(ctx, request)
}

// Check says whether values could be reserved, and if not why.
func (r *Registry) Check(ctx context.Context, request CheckRequest) ([]Availability, error) {
	return r.backend.Check(ctx, request)
}

// Resolve says where a name leads.
func (r *Registry) Resolve(ctx context.Context, namespace, value string) (Resolution, error) {
	return r.backend.Resolve(ctx, namespace, value)
}

// Get returns a name by its ID, or by namespace and value.
func (r *Registry) Get(ctx context.Context, lookup Lookup) (Name, error) {
	return r.backend.Get(ctx, lookup)
}

// IsReserved reports whether a name is not free: held, in use or kept back.
func (r *Registry) IsReserved(ctx context.Context, namespace, value string) (bool, error) {
	name, err := r.Get(ctx, Lookup{Namespace: namespace, Value: value})
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && name.State != Free, err
}

// RemainingTTL returns how long a hold still lasts, by the engine's clock; zero
// where it is none, or over.
func (r *Registry) RemainingTTL(ctx context.Context, id ID) (time.Duration, error) {
	name, err := r.Get(ctx, Lookup{ID: id})
	if err != nil {
		return 0, err
	}
	return name.Remaining, nil
}

// Entity returns an entity with its names.
func (r *Registry) Entity(ctx context.Context, scope string, entity Entity) (EntityInfo, error) {
	return r.backend.Entity(ctx, scope, entity)
}

// List returns a page of names.
func (r *Registry) List(ctx context.Context, query NamesQuery) (NamesPage, error) {
	return r.backend.List(ctx, query)
}

// History returns all events of a name, oldest first. There can be any number of them:
// [Registry.HistoryPage] returns some at a time.
func (r *Registry) History(ctx context.Context, namespace, value string) ([]Event, error) {
	query := HistoryQuery{Namespace: namespace, Value: value}
	var events []Event // newest first
	for {
		page, err := r.backend.History(ctx, query)
		if err != nil {
			return nil, err
		}
		slices.Reverse(page.Events)
		events = append(events, page.Events...)
		if page.Next == "" {
			slices.Reverse(events)
			return events, nil
		}
		query.Cursor = page.Next
	}
}

// HistoryPage returns the newest events of a name, or those before another page.
func (r *Registry) HistoryPage(ctx context.Context, query HistoryQuery) (HistoryPage, error) {
	return r.backend.History(ctx, query)
}

// WhoHeld returns who had a name at a moment.
func (r *Registry) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (Holder, error) {
	return r.backend.WhoHeld(ctx, namespace, value, at)
}

// Events returns a page of the feed.
func (r *Registry) Events(ctx context.Context, query FeedQuery) (EventPage, error) {
	return r.backend.Events(ctx, query, false)
}

// AwaitEvents is Events, and waits until there is one. [Registry.Watch] is a loop over
// it.
func (r *Registry) AwaitEvents(ctx context.Context, query FeedQuery) (EventPage, error) {
	return r.backend.Events(ctx, query, true)
}

// Stats counts the names there are, by namespace and state. On most engines that is a
// look at all of them: keep the answer for a while.
func (r *Registry) Stats(ctx context.Context) (Stats, error) { return r.backend.Stats(ctx) }

// Conflicts returns how many attempts were refused, by namespace, reason and hour.
func (r *Registry) Conflicts(ctx context.Context, query ConflictsQuery) ([]ConflictBucket, error) {
	return r.backend.Conflicts(ctx, query)
}

// SetPolicies replaces all policies of an embedded Registry at once: each command is decided
// by the old ones or by the new ones. Policies that are not valid change nothing. See [Config]
// for what the two are.
//
// Other rules for which names are the same take [Registry.Recanonicalize], before or after;
// [Registry.CheckPolicies] finds them.
func (r *Registry) SetPolicies(byNamespace map[string]Policy, fallback Policy) error {
	b, ok := r.backend.(EmbeddedBackend)
	if !ok {
		return errRemotePolicies
	}
	return b.SetPolicies(byNamespace, fallback)
}

// Policy returns the policy that an embedded Registry has for a namespace, with every default
// filled in.
func (r *Registry) Policy(namespace string) (Policy, error) {
	b, ok := r.backend.(EmbeddedBackend)
	if !ok {
		return Policy{}, errRemotePolicies
	}
	return b.Policy(namespace)
}

// CheckPolicies says whether policies can replace those of an embedded Registry: it returns an
// [*OtherRulesError] if existing names were made by other rules than the policies have. No new
// names would be given out in those namespaces; they take [Registry.Recanonicalize] first. A
// namespace that is being brought under the new rules is none of them. It changes nothing.
func (r *Registry) CheckPolicies(ctx context.Context, byNamespace map[string]Policy, fallback Policy) error {
	b, ok := r.backend.(EmbeddedBackend)
	if !ok {
		return errRemotePolicies
	}
	return b.CheckPolicies(ctx, byNamespace, fallback)
}

// InTransaction is for engines: it returns a Registry that decides by the same
// rules and policies as r, but directly on the store that bind returns, which is
// bound to a transaction of the caller's own. Its commands become true when that
// transaction commits. bind is given the store that r works on; if it fails, or r
// works on a server, every verb of the new Registry returns the error.
//
// The new Registry must not be used by several goroutines at once, like the
// transaction itself. Closing it does nothing.
func (r *Registry) InTransaction(bind func(Store) (Store, error)) *Registry {
	err := errRemoteTx
	if b, ok := r.backend.(EmbeddedBackend); ok {
		var bound Backend
		if bound, err = b.InTransaction(bind); err == nil {
			return &Registry{backend: bound, principal: r.principal}
		}
	}
	return &Registry{backend: FailingBackend(err), principal: r.principal}
}

var (
	errRemotePolicies = fmt.Errorf("%w: the policies are the server's", ErrUnsupported)
	errRemoteTx       = fmt.Errorf("%w: a registry on a server cannot join a transaction of this process", ErrUnsupported)
)

// Watch yields the events behind a cursor, and goes on with new ones as they are
// committed, until the context ends or the loop is left. It yields an error once,
// as its last; resume from the Cursor of the last event.
func (r *Registry) Watch(ctx context.Context, query FeedQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			page, err := r.backend.Events(ctx, query, true)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range page.Events {
				if !yield(e, nil) {
					return
				}
			}
			query.After = page.Next
		}
	}
}
