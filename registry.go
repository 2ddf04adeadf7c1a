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

// applyAll applies a command to each hold, all of them or none.
func (r *Registry) applyAll(ctx context.Context, holds []Hold, command func(Hold) Command) ([]Name, error) {
	commands, names := make([]Command, len(holds)), make([]Name, len(holds))
	for i, h := range holds {
		commands[i] = command(h)
	}
	results, err := r.Apply(ctx, commands...)
	if err != nil {
		return nil, err
	}
	for i := range results {
		names[i] = results[i].Names[0]
	}
	return names, nil
}

// dereference replaces pointers to commands by commands, and nil pointers by nil.
func dereference(commands []Command) []Command {
	for i, c := range commands {
		pointer := reflect.ValueOf(c)
		if pointer.Kind() != reflect.Pointer {
			continue
		}
		commands = slices.Clone(commands) // the caller's stay as they are
		commands[i] = nil
		if value := pointer.Elem(); value.IsValid() {
			commands[i], _ = reflect.TypeAssert[Command](value)
		}
	}
	return commands
}
