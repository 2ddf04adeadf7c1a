package core

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/generation"
	"github.com/calldibs/dibs/internal/rules"
)

// partOf returns the one part that all commands are about. If they are about several, it
// returns a refusal, and the part of the first command.
func (r *router) partOf(ctx context.Context, principal dibs.Principal, commands []dibs.Command) (int, *dibs.Error) {
	if len(commands) > rules.MaxCommands {
		return r.whole.PartOf(""), nil // any part refuses so many
	}
	found, err := r.locateAll(ctx, principal, commands)
	if err != nil {
		return r.whole.PartOf(""), err
	}
	var (
		first *rules.Location
		home  int
	)
	for i, command := range commands {
		for _, at := range rules.Locations(command) {
			part, known := r.whole.PartOf(at.Scope), true
			if !at.ID.IsZero() {
				entry, stored := found[at.ID]
				part, known = entry.part, stored && principal.Allows(command, entry.namespace)
			}
			switch {
			case !known: // any part answers that there is no such reservation
			case first == nil:
				first, home = &at, part
			case part != home:
				err := r.severalParts(*first, at, home, part)
				if len(commands) > 1 {
					err = rules.Several([]dibs.Failure{{Index: i, Err: err}}, len(commands))
				}
				return home, err
			}
		}
	}
	if first == nil {
		return r.defaultPart(), nil
	}
	return home, nil
}

// severalParts returns the refusal of commands that are about two parts.
func (r *router) severalParts(a, b rules.Location, home, other int) *dibs.Error {
	err := &dibs.Error{Code: dibs.CodeInvalidNamespace, Message: fmt.Sprintf(
		"%s and %s are in different stores (%q and %q), which cannot commit together: send two requests",
		a.Name, b.Name, r.parts[home].Name, r.parts[other].Name)}
	err.Namespace, err.Field = b.Namespace, b.Kind
	return err
}

// defaultPart returns the part for commands without a location: the part of the transaction
// of the caller, or else any, which refuses them.
func (r *router) defaultPart() int {
	if r.IsBound() {
		return r.bound
	}
	return r.whole.PartOf("")
}

// locateAll locates the reservations that commands name by ID, if the principal has the right
// to these commands in their namespace.
func (r *router) locateAll(ctx context.Context, principal dibs.Principal, commands []dibs.Command) (map[dibs.ID]partEntry, *dibs.Error) {
	named := make(map[dibs.ID][]dibs.Command)
	for _, command := range commands {
		for _, at := range rules.Locations(command) {
			if !at.ID.IsZero() {
				named[at.ID] = append(named[at.ID], command)
			}
		}
	}
	if len(named) == 0 {
		return nil, nil
	}
	found, err := r.locate(ctx, slices.Collect(maps.Keys(named)), func(id dibs.ID, namespace string) bool {
		return slices.ContainsFunc(named[id], func(c dibs.Command) bool { return principal.Allows(c, namespace) })
	})
	if err != nil {
		return nil, asError(err)
	}
	return found, nil
}

// locate returns where reservations are stored. It leaves out reservations that no part has,
// and those that are not visible. A part that fails matters only if no other part has a
// reservation.
func (r *router) locate(ctx context.Context, ids []dibs.ID, visible func(id dibs.ID, namespace string) bool) (map[dibs.ID]partEntry, error) {
	found := make(map[dibs.ID]partEntry, len(ids))
	missing := make(map[dibs.ID]bool)
	for _, id := range ids {
		if entry, known := r.cache.get(id); known && visible(id, entry.namespace) {
			found[id] = entry
		} else if r.IsBound() {
			found[id] = partEntry{part: r.bound} // the transaction does not reach the other parts
		} else {
			missing[id] = true
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // parts that have not answered yet need not
	answers := r.askAll(ctx, slices.Collect(maps.Keys(missing)))
	var failed error
	for range r.parts {
		var answer partAnswer
		select {
		case answer = <-answers:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if answer.err != nil {
			failed = errors.Join(failed, fmt.Errorf("store %q: %w", r.parts[answer.part].Name, answer.err))
		}
		for id, namespace := range answer.namespaces {
			entry := partEntry{answer.part, namespace}
			r.cache.put(id, entry)
			if visible(id, namespace) {
				found[id] = entry
				delete(missing, id)
			}
		}
		if len(missing) == 0 {
			return found, nil
		}
	}
	if failed != nil {
		return nil, dibs.Unavailable(failed)
	}
	return found, nil
}

// partAnswer is the answer of a part: which of the reservations it has, in which namespaces.
type partAnswer struct {
	part       int
	namespaces map[dibs.ID]string
	err        error
}

// askAll asks all parts at once for reservations. Each part sends one answer.
func (r *router) askAll(ctx context.Context, ids []dibs.ID) <-chan partAnswer {
	answers := make(chan partAnswer, len(r.cores))
	for i, c := range r.cores {
		go func() {
			namespaces, err := ask(ctx, c, c.rules().NamespacesOf(ids))
			answers <- partAnswer{i, namespaces, err}
		}()
	}
	return answers
}

// partCacheSize is the number of reservations in a generation of the cache. It has two.
const partCacheSize = 1 << 15

// partEntry says where a reservation is stored.
type partEntry struct {
	part      int
	namespace string
}

// partCache remembers where reservations are stored. An ID is a hash of namespace and
// canonical form, so an entry stays right even if the name is deleted and reserved again. It
// is safe for concurrent use.
type partCache struct {
	mu      sync.Mutex
	entries generation.Map[dibs.ID, partEntry]
}

func newPartCache() *partCache {
	return &partCache{entries: generation.Map[dibs.ID, partEntry]{Size: partCacheSize}}
}

func (c *partCache) get(id dibs.ID) (entry partEntry, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Get(id)
}

func (c *partCache) put(id dibs.ID, entry partEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Put(id, entry)
}

// note remembers where the names of results are stored.
func (c *partCache) note(results []dibs.Result, part int) {
	for _, result := range results {
		for _, n := range result.Names {
			c.put(n.ID, partEntry{part, n.Namespace})
		}
	}
}
