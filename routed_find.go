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
func (r *routed) partOf(ctx context.Context, commands []Command) (int, *Error) {
	if len(commands) > maxCommands {
		return r.whole.PartOf(""), nil // any part refuses that
	}
	found, err := r.locateAll(ctx, commands)
	if err != nil {
		return r.whole.PartOf(""), err
	}
	var (
		first *place
		home  int
	)
	for i, command := range commands {
		if command == nil {
			continue
		}
		for _, at := range command.places() {
			part, known := found[at.id]
			if at.id.IsZero() {
				part, known = r.whole.PartOf(at.scope), true
			}
			switch {
			case !known: // there is none, as any part will say
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
		return r.homeless(ctx, commands), nil
	}
	return home, nil
}

// apart makes the refusal of commands that belong to two parts.
func (r *routed) apart(a, b place, home, other int) *Error {
	err := &Error{Code: CodeInvalidNamespace, Message: fmt.Sprintf(
		"%s and %s are kept in different stores (%q and %q), which commit nothing together: send two requests",
		a.name, b.name, r.parts[home].Name, r.parts[other].Name)}
	if b.id.IsZero() {
		if _, kind, invalid := splitNamespace(b.name); invalid == nil {
			err.Namespace, err.Field = b.name, kind
		}
	}
	return err
}

// homeless returns where commands go that name no place: a sweep to where something is due,
// everything else to where it is refused.
func (r *routed) homeless(ctx context.Context, commands []Command) int {
	isSweep := func(c Command) bool { _, ok := c.(Sweep); return ok }
	switch {
	case r.isBound():
		return r.bound
	case slices.ContainsFunc(commands, isSweep):
		for i, part := range r.parts {
			if due, err := part.Store.Due(ctx, 1); err == nil && len(due) > 0 {
				return i
			}
		}
	}
	return r.whole.PartOf("")
}

// locateAll finds the reservations that commands name by their IDs.
func (r *routed) locateAll(ctx context.Context, commands []Command) (map[ID]int, *Error) {
	var ids []ID
	for _, command := range commands {
		if command == nil {
			continue
		}
		for _, at := range command.places() {
			if !at.id.IsZero() {
				ids = append(ids, at.id)
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := r.locate(ctx, ids)
	if err != nil {
		return nil, asError(err)
	}
	return found, nil
}

// locate returns the parts that have reservations; those that no part has are left out. A
// part that cannot be asked matters only if no other has what is looked for.
func (r *routed) locate(ctx context.Context, ids []ID) (map[ID]int, error) {
	found := make(map[ID]int, len(ids))
	missing := make(map[ID]bool)
	for _, id := range ids {
		if part, known := r.where.get(id); known {
			found[id] = part
		} else if r.isBound() {
			found[id] = r.bound // the others are out of reach, and so what they have
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
		for _, id := range seen.has {
			found[id] = seen.part
			r.where.put(id, seen.part)
			delete(missing, id)
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
	has  []ID
	err  error
}

// ask asks all parts for names at once. Each sends one answer.
func (r *routed) ask(ctx context.Context, ids []ID) <-chan partAnswer {
	answers := make(chan partAnswer, len(r.cores))
	for i, c := range r.cores {
		go func() {
			has, err := c.whichExist(ctx, ids)
			answers <- partAnswer{i, has, err}
		}()
	}
	return answers
}

// whichExist returns those of some names that have a row.
func (c *core) whichExist(ctx context.Context, ids []ID) ([]ID, error) {
	p := c.preparer(Principal{})
	for _, id := range ids {
		p.want(Ref{Kind: KindName, ID: id})
	}
	return ask(ctx, c, p, func(v *view) (exist []ID) {
		for _, id := range ids {
			if v.see(Ref{Kind: KindName, ID: id}) != nil {
				exist = append(exist, id)
			}
		}
		return exist
	})
}
