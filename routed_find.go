package dibs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// partOf returns the one part that commands are about, or refuses them. With the error it
// returns the part of the first of them.
func (r *routed) partOf(ctx context.Context, principal Principal, commands []Command) (int, *Error) {
	if len(commands) > maxCommands {
		return r.whole.PartOf(""), nil // any part refuses that
	}
	found, err := r.locateAll(ctx, principal, commands)
	if err != nil {
		return r.whole.PartOf(""), err
	}
	var (
		first *location
		home  int
	)
	for i, command := range commands {
		for _, at := range locations(command) {
			seen, known := found[at.id]
			part := seen.part
			if at.id.IsZero() {
				part, known = r.whole.PartOf(at.scope), true
			}
			switch {
			case !known, !at.id.IsZero() && !principal.Allows(command, seen.namespace): // there is none, as any part will say
			case first == nil:
				first, home = &at, part
			case part != home:
				err := r.apart(*first, at, home, part)
				if len(commands) > 1 {
					err = several([]Failure{{i, err}}, len(commands))
				}
				return home, err
			}
		}
	}
	if first == nil {
		return r.home(), nil
	}
	return home, nil
}

// apart makes the refusal of commands that belong to two parts.
func (r *routed) apart(a, b location, home, other int) *Error {
	err := &Error{Code: CodeInvalidNamespace, Message: fmt.Sprintf(
		"%s and %s are kept in different stores (%q and %q), which commit nothing together: send two requests",
		a.name, b.name, r.parts[home].Name, r.parts[other].Name)}
	err.Namespace, err.Field = b.namespace, b.kind
	return err
}

// home returns the part for commands that name no location: one that refuses them, or the
// part that a transaction of the caller's is on.
func (r *routed) home() int {
	if r.IsBound() {
		return r.bound
	}
	return r.whole.PartOf("")
}

// locateAll finds the reservations that commands name by their IDs, if the principal may
// do so to them.
func (r *routed) locateAll(ctx context.Context, principal Principal, commands []Command) (map[ID]partOf, *Error) {
	named := make(map[ID][]Command)
	for _, command := range commands {
		for _, at := range locations(command) {
			if !at.id.IsZero() {
				named[at.id] = append(named[at.id], command)
			}
		}
	}
	if len(named) == 0 {
		return nil, nil
	}
	found, err := r.locate(ctx, slices.Collect(maps.Keys(named)), func(id ID, namespace string) bool {
		return slices.ContainsFunc(named[id], func(c Command) bool { return principal.Allows(c, namespace) })
	})
	if err != nil {
		return nil, asError(err)
	}
	return found, nil
}

// locate returns where reservations are; those that no part has are left out, and so are
// those that are not visible. A part that cannot be asked matters only if no other has
// what is looked for.
func (r *routed) locate(ctx context.Context, ids []ID, visible func(id ID, namespace string) bool) (map[ID]partOf, error) {
	found := make(map[ID]partOf, len(ids))
	missing := make(map[ID]bool)
	for _, id := range ids {
		if at, known := r.where.get(id); known && visible(id, at.namespace) {
			found[id] = at
		} else if r.IsBound() {
			found[id] = partOf{part: r.bound} // the others are out of reach, and so what they have
		} else {
			missing[id] = true
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // who has not answered yet need not
	sightings := r.ask(ctx, slices.Collect(maps.Keys(missing)))
	var failed error
	for range r.parts {
		var seen partAnswer
		select {
		case seen = <-sightings:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if seen.err != nil {
			failed = errors.Join(failed, fmt.Errorf("store %q: %w", r.parts[seen.part].Name, seen.err))
		}
		for id, namespace := range seen.has {
			at := partOf{seen.part, namespace}
			r.where.put(id, at)
			if visible(id, namespace) {
				found[id] = at
				delete(missing, id)
			}
		}
		if len(missing) == 0 {
			return found, nil
		}
	}
	if failed != nil {
		return nil, Unavailable(failed)
	}
	return found, nil
}

// partAnswer is what one part has of the names that were asked for.
type partAnswer struct {
	part int
	has  map[ID]string // and their namespaces
	err  error
}

// ask asks all parts for names at once. Each sends one answer.
func (r *routed) ask(ctx context.Context, ids []ID) <-chan partAnswer {
	answers := make(chan partAnswer, len(r.cores))
	for i, c := range r.cores {
		go func() {
			has, err := ask(ctx, c, c.rules().namespacesOf(ids))
			answers <- partAnswer{i, has, err}
		}()
	}
	return answers
}
