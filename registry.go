package dibs

import (
	"context"
	"fmt"
	"reflect"
	"slices"
)

// Registry hands out names. It is safe for concurrent use, unless it is bound to a transaction.
// Package embedded opens one on an engine, package dibsclient on a server.
type Registry struct {
	backend   Backend
	principal Principal
}

// NewRegistry returns a Registry over a backend, such as a client of a server. Most programs
// use package embedded instead.
func NewRegistry(backend Backend) *Registry {
	// The program that opens a Registry is trusted; As takes rights away.
	return &Registry{backend: backend, principal: Principal{Rights: OverrideReserved | Operate}}
}

// As returns a Registry that acts for a principal, with its rights and no others. Both share
// everything else; close only one of them.
func (r *Registry) As(principal Principal) *Registry {
	return &Registry{backend: r.backend, principal: principal}
}

// Close finishes the commands in progress, refuses those that wait, and closes the engine.
func (r *Registry) Close() error { return r.backend.Close() }

// Apply decides commands in order, each on the effects of those before it, and commits all of
// them or none. The error lists every refused command; a command after the first refused one
// may be refused only because of it.
func (r *Registry) Apply(ctx context.Context, commands ...Command) ([]Result, error) {
	return r.backend.Apply(ctx, ApplyRequest{Principal: r.principal, Commands: dereference(commands)})
}

// DryRun decides commands as Apply does, and commits nothing.
func (r *Registry) DryRun(ctx context.Context, commands ...Command) ([]Result, error) {
	return r.backend.Apply(ctx, ApplyRequest{Principal: r.principal, Commands: dereference(commands), DryRun: true})
}

// Reserve holds a name for a limited time.
func (r *Registry) Reserve(ctx context.Context, command Reserve) (Hold, error) {
	return r.applyHold(ctx, command)
}

// ReserveAll holds several names, all of them or none, with one token.
func (r *Registry) ReserveAll(ctx context.Context, command ReserveAll) ([]Hold, error) {
	result, err := r.applyOne(ctx, command)
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
	return r.applyHold(ctx, command)
}

// Extend moves the end of a hold.
func (r *Registry) Extend(ctx context.Context, command Extend) (Name, error) {
	return r.applyName(ctx, command)
}

// Confirm makes a held name the active name of an entity.
func (r *Registry) Confirm(ctx context.Context, command Confirm) (Name, error) {
	return r.applyName(ctx, command)
}

// Release ends a hold before its time.
func (r *Registry) Release(ctx context.Context, command Release) (Name, error) {
	return r.applyName(ctx, command)
}

// Claim makes a free name the active name of an entity at once.
func (r *Registry) Claim(ctx context.Context, command Claim) (Name, error) {
	return r.applyName(ctx, command)
}

// Rename gives an entity another name; the present one becomes an alias.
func (r *Registry) Rename(ctx context.Context, command Rename) (Name, error) {
	return r.applyName(ctx, command)
}

// Archive is the soft delete of an entity: its names stay taken and stop resolving.
func (r *Registry) Archive(ctx context.Context, command Archive) (Result, error) {
	return r.applyOne(ctx, command)
}

// Restore undoes an Archive.
func (r *Registry) Restore(ctx context.Context, command Restore) (Result, error) {
	return r.applyOne(ctx, command)
}

// Delete is the hard delete of an entity: its names become quarantined or free.
func (r *Registry) Delete(ctx context.Context, command Delete) (Result, error) {
	return r.applyOne(ctx, command)
}

// Decommission gives up one name of an entity.
func (r *Registry) Decommission(ctx context.Context, command Decommission) (Name, error) {
	return r.applyName(ctx, command)
}

// Transfer gives a name of one entity to another.
func (r *Registry) Transfer(ctx context.Context, command Transfer) (Name, error) {
	return r.applyName(ctx, command)
}

// Swap exchanges the active names of two entities.
func (r *Registry) Swap(ctx context.Context, command Swap) (Result, error) {
	return r.applyOne(ctx, command)
}

// Rekey adds a name of a blind namespace to the indexes of the policy's present keys.
func (r *Registry) Rekey(ctx context.Context, command Rekey) (Name, error) {
	return r.applyName(ctx, command)
}

// Settle ends a suspect by an operator's verdict. It needs the right [Operate].
func (r *Registry) Settle(ctx context.Context, command Settle) (Name, error) {
	return r.applyName(ctx, command)
}

// Forget erases a person or one name, or says what it would erase. It needs [Operate].
func (r *Registry) Forget(ctx context.Context, request ForgetRequest) (Forgetting, error) {
	if !r.principal.HasIn(request.Namespace, Operate) {
		return Forgetting{}, needsOperate("Forget")
	}
	return r.backend.Forget(ctx, request)
}

// Recanonicalize brings the names of a namespace under the present rules of its policy, or says
// what it would do. It needs [Operate].
func (r *Registry) Recanonicalize(ctx context.Context, request RecanonicalizeRequest) (Recanonicalization, error) {
	if !r.principal.HasIn(request.Namespace, Operate) {
		return Recanonicalization{}, needsOperate("Recanonicalize")
	}
	return r.backend.Recanonicalize(ctx, request)
}

// Sweep processes up to limit records whose time is over: it records ends, asks witnesses,
// finishes deletions and purges. No name waits for a sweep to become free.
func (r *Registry) Sweep(ctx context.Context, limit int) (SweepReport, error) {
	if limit < 1 {
		return SweepReport{}, fmt.Errorf("dibs: the limit of a sweep is %d, it must be at least 1", limit)
	}
	return r.backend.Sweep(ctx, limit)
}

// applyHold applies a command that reserves one name.
func (r *Registry) applyHold(ctx context.Context, command Command) (Hold, error) {
	result, err := r.applyOne(ctx, command)
	if err != nil {
		return Hold{}, err
	}
	return result.hold(0), nil
}

// applyName applies a command whose result is one name.
func (r *Registry) applyName(ctx context.Context, command Command) (Name, error) {
	result, err := r.applyOne(ctx, command)
	if err != nil {
		return Name{}, err
	}
	return result.Names[0], nil
}

func (r *Registry) applyOne(ctx context.Context, command Command) (Result, error) {
	results, err := r.Apply(ctx, command)
	if err != nil {
		return Result{}, err
	}
	return results[0], nil
}

// dereference replaces pointers to commands by commands, and nil pointers by nil.
func dereference(commands []Command) []Command {
	isPointer := func(c Command) bool { return reflect.ValueOf(c).Kind() == reflect.Pointer }
	if !slices.ContainsFunc(commands, isPointer) {
		return commands
	}
	values := slices.Clone(commands)
	for i, c := range values {
		if !isPointer(c) {
			continue
		}
		values[i] = nil
		if v := reflect.ValueOf(c).Elem(); v.IsValid() {
			values[i], _ = reflect.TypeAssert[Command](v)
		}
	}
	return values
}
