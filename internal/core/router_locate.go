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
// returns a refusal, and the part of the first command. Commands without a location belong to the
// part of the transaction of the caller, or else to any, which refuses them.
func (r *router) partOf(ctx context.Context, principal dibs.Principal, commands []dibs.Command) (int, *dibs.Error) {
	home := r.anyPart()
	if len(commands) > rules.MaxCommands {
		return home, nil // any part refuses so many
	}
	found, err := r.locateAll(ctx, principal, commands)
	if err != nil {
		return home, err
	}
	var first *rules.Location
	for i, command := range commands {
		for _, at := range rules.Locations(command) {
			part, known := r.whole.PartOf(at.Scope), true
			if !at.ID.IsZero() {
				part, known = r.partWith(at.ID, found)
				known = known && principal.Allows(command, found[at.ID])
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

// partWith returns the part of a reservation, by the namespaces that locate found. A transaction
// of the caller does not reach the other parts, so it knows the reservation or none does.
func (r *router) partWith(id dibs.ID, namespaces map[dibs.ID]string) (part int, known bool) {
	if namespace, found := namespaces[id]; found {
		return r.partFor(namespace), true
	}
	return r.anyPart(), r.IsBound()
}

// locateAll locates the reservations that commands name by ID, if the principal has the right
// to these commands in their namespace.
func (r *router) locateAll(ctx context.Context, principal dibs.Principal, commands []dibs.Command) (map[dibs.ID]string, *dibs.Error) {
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

// locate returns the namespaces of reservations, which tell their parts. It leaves out
// reservations that no part has, and those that are not visible. A part that fails matters only if
// no other part has a reservation.
func (r *router) locate(ctx context.Context, ids []dibs.ID, visible func(id dibs.ID, namespace string) bool) (map[dibs.ID]string, error) {
	found := make(map[dibs.ID]string, len(ids))
	var missing []dibs.ID
	for _, id := range ids {
		if namespace, known := r.cache.get(id); known && visible(id, namespace) {
			found[id] = namespace
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 || r.IsBound() {
		return found, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // parts that have not answered yet need not
	type answer struct {
		namespaces map[dibs.ID]string // of the reservations that the part has
		err        error
	}
	answers := make(chan answer, len(r.cores))
	for i, c := range r.cores {
		go func() {
			namespaces, err := ask(ctx, c, c.rules().NamespacesOf(missing))
			if err != nil {
				err = fmt.Errorf("store %q: %w", r.parts[i].Name, err)
			}
			answers <- answer{namespaces, err}
		}()
	}
	var failed error
	for range r.cores {
		select {
		case a := <-answers:
			failed = errors.Join(failed, a.err)
			for id, namespace := range a.namespaces {
				r.cache.put(id, namespace)
				if visible(id, namespace) {
					found[id] = namespace
				}
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if len(found) == len(ids) {
			return found, nil
		}
	}
	if failed != nil {
		return nil, dibs.Unavailable(failed)
	}
	return found, nil
}

// partCache remembers the namespaces of reservations. An ID is a hash of namespace and
// canonical form, so an entry stays right even if the name is deleted and reserved again. It
// is safe for concurrent use.
type partCache struct {
	mu         sync.Mutex
	namespaces generation.Map[dibs.ID, string]
}

func newPartCache() *partCache { // of two generations
	return &partCache{namespaces: generation.Map[dibs.ID, string]{Size: 1 << 15}}
}

func (c *partCache) get(id dibs.ID) (namespace string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.namespaces.Get(id)
}

func (c *partCache) put(id dibs.ID, namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.namespaces.Put(id, namespace)
}

// note remembers the names of results.
func (c *partCache) note(results []dibs.Result) {
	for _, result := range results {
		for _, n := range result.Names {
			c.put(n.ID, n.Namespace)
		}
	}
}
