package dibs

import (
	"context"
	"time"
)

// Observer is a set of optional hooks. They must be safe for concurrent use and return quickly.
type Observer struct {
	// Command is called after every Apply, and so after every command.
	Command func(CommandInfo)
	// Batch is called after each batch of a writer.
	Batch func(BatchInfo)
	// Sweep is called after each sweep.
	Sweep func(SweepReport)
	// Witness is called after a witness was asked.
	Witness func(WitnessInfo)
	// Begin is called when work begins; the function that it returns is called at the end, with
	// nil or the error. The work gets the context that Begin returns, which must be derived
	// from the one that Begin gets. This is for tracing, see package dibsotel.
	Begin func(ctx context.Context, work Work) (context.Context, func(err error))
}

// CommandInfo describes an Apply.
type CommandInfo struct {
	Commands []Command // the request; it contains tokens, so do not log all of it
	DryRun   bool
	Err      error // nil, or why it was refused
	Took     time.Duration
}

// BatchInfo describes a batch of a writer.
type BatchInfo struct {
	Requests int // how many callers shared it
	Commits  int // how many transactions it needed: 0 if nothing changed, more than 1 after a conflict or a wrong guess
	Queued   int // how many callers wait for the next batch
	Took     time.Duration
	Err      error // nil, or the engine's error
}

// WitnessInfo describes a question to a witness and its answer.
type WitnessInfo struct {
	Hold    SuspectHold
	Verdict Verdict
	Err     error // why there is no verdict, or nil
	Took    time.Duration
}

// WorkKind is the kind of a [Work].
type WorkKind uint8

// The kinds of work.
const (
	WorkCall   WorkKind = iota // a call of the Registry
	WorkBatch                  // shared by several calls: a commit ("batch") or a read of the engine ("read")
	WorkEngine                 // a call of the engine
)

// Work describes the work that begins, for [Observer.Begin]. It has no value, token or entity.
type Work struct {
	Kind WorkKind
	// Op is the verb in lower case ("reserve", "resolve", "apply" for several commands),
	// "batch" or "read", or the method of the engine ("load").
	Op string
	// Namespace is the namespace of the call; empty if the call has none or several.
	Namespace string
	// Size is the number of commands, requests, records or groups.
	Size int
	// Callers are the contexts of the calls that share a batch, for their traces. The batch
	// itself runs in none of them: no caller can cancel it.
	Callers []context.Context
}
