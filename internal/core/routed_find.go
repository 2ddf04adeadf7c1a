package core

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// partOf returns the one part that commands are about, or refuses them. With the error it
// returns the part of the first of them.
func (r *routed) partOf(ctx context.Context, principal dibs.Principal, commands []dibs.Command) (int, *dibs.Error) {
	if len(commands) > rules.MaxCommands {
		return r.whole.PartOf(""), nil // any part refuses that
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
			seen, known := found[at.ID]
			part := seen.part
			if at.ID.IsZero() {
				part, known = r.whole.PartOf(at.Scope), true
			}
			switch {
			case !known, !at.ID.IsZero() && !principal.Allows(command, seen.namespace): // there is none, as any part will say
			case first == nil:
				first, home = &at, part
			case part != home:
				err := r.apart(*first, at, home, part)
				if len(commands) > 1 {
					err = rules.Several([]dibs.Failure{{Index: i, Err: err}}, len(commands))
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
func (r *routed) apart(a, b rules.Location, home, other int) *dibs.Error {
	err := &dibs.Error{Code: dibs.CodeInvalidNamespace, Message: fmt.Sprintf(
		"%s and %s are kept in different stores (%q and %q), which commit nothing together: send two requests",
		a.Name, b.Name, r.parts[home].Name, r.parts[other].Name)}
	err.Namespace, err.Field = b.Namespace, b.Kind
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
func (r *routed) locateAll(ctx context.Context, principal dibs.Principal, commands []dibs.Command) (map[dibs.ID]partOf, *dibs.Error) {
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

// locate returns where reservations are; those that no part has are left out, and so are
// those that are not visible. A part that cannot be asked matters only if no other has
// what is looked for.
func (r *routed) locate(ctx context.Context, ids []dibs.ID, visible func(id dibs.ID, namespace string) bool) (map[dibs.ID]partOf, error) {
	found := make(map[dibs.ID]partOf, len(ids))
	missing := make(map[dibs.ID]bool)
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
		return nil, dibs.Unavailable(failed)
	}
	return found, nil
}

// partAnswer is what one part has of the names that were asked for.
type partAnswer struct {
	part int
	has  map[dibs.ID]string // and their namespaces
	err  error
}

// ask asks all parts for names at once. Each sends one answer.
func (r *routed) ask(ctx context.Context, ids []dibs.ID) <-chan partAnswer {
	answers := make(chan partAnswer, len(r.cores))
	for i, c := range r.cores {
		go func() {
			has, err := ask(ctx, c, c.rules().NamespacesOf(ids))
			answers <- partAnswer{i, has, err}
		}()
	}
	return answers
}
