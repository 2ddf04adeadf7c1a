package dibs

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

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

// IsReserved reports whether a name is in any state but [Free].
func (r *Registry) IsReserved(ctx context.Context, namespace, value string) (bool, error) {
	name, err := r.Get(ctx, Lookup{Namespace: namespace, Value: value})
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && name.State != Free, err
}

// RemainingTTL returns how long a hold still lasts, by the engine's clock. It is zero if the
// hold is over or the name is not held.
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

// History returns all events of a name, oldest first. Their number has no bound:
// [Registry.HistoryPage] returns one page of them.
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

// WhoHeld returns the owner or holder of a name at a moment.
func (r *Registry) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (Holder, error) {
	return r.backend.WhoHeld(ctx, namespace, value, at)
}

// Events returns a page of the feed.
func (r *Registry) Events(ctx context.Context, query FeedQuery) (EventPage, error) {
	return r.backend.Events(ctx, query, false)
}

// AwaitEvents is Events, but waits until there is an event. [Registry.Watch] is a loop over it.
func (r *Registry) AwaitEvents(ctx context.Context, query FeedQuery) (EventPage, error) {
	return r.backend.Events(ctx, query, true)
}

// Watch yields the events after a cursor, then new ones as they are committed, until the
// context ends or the caller leaves the loop. An error ends it and is yielded last; resume from
// the Cursor of the last event.
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

// Stats counts names by namespace and state. Most engines read all names: cache the answer.
func (r *Registry) Stats(ctx context.Context) (Stats, error) { return r.backend.Stats(ctx) }

// Conflicts returns how many attempts were refused, by namespace, reason and hour.
func (r *Registry) Conflicts(ctx context.Context, query ConflictsQuery) ([]ConflictBucket, error) {
	return r.backend.Conflicts(ctx, query)
}

// Activity returns how much happened. What other processes did in the last seconds may be missing.
func (r *Registry) Activity(ctx context.Context, query ActivityQuery) (Activity, error) {
	return r.backend.Activity(ctx, query)
}
