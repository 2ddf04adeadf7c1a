package dibs

import (
	"context"
	"time"
)

// Observer is a set of hooks, each of which may be nil. They are called from
// several goroutines at once and must return quickly.
type Observer struct {
	// Command is called after every Apply, also of one command.
	Command func(CommandInfo)
	// Batch is called by the writer after each batch.
	Batch func(BatchInfo)
	// Sweep is called after each sweep.
	Sweep func(SweepReport)
	// Witness is called after a witness was asked.
	Witness func(WitnessInfo)
	// Begin is called when work begins, and what it returns at its end: with nil, or
	// with what went wrong. All that is done for it has the context that it returns,
	// which must come from the one it was given. This is for tracing, see package
	// dibsotel.
	Begin func(ctx context.Context, work Work) (context.Context, func(err error))
}

// CommandInfo describes an Apply.
type CommandInfo struct {
	Commands []Command // what was asked for; tokens are in there, so never log it whole
	DryRun   bool
	Err      error // nil, or why it was refused
	Took     time.Duration
}

// BatchInfo describes a batch of the writer.
type BatchInfo struct {
	Requests int // how many callers shared it
	Commits  int // transactions it took: 0 if nothing was changed, more than 1 if others were faster or a guess was wrong
	Queued   int // how many callers wait for the next
	Took     time.Duration
	Err      error // of the engine
}

// WitnessInfo describes what a witness was asked and said.
type WitnessInfo struct {
	Hold    SuspectHold
	Verdict Verdict
	Err     error // why there is no verdict, or nil
	Took    time.Duration
}

// WorkKind is what kind of work an [Observer] is told of.
type WorkKind uint8

// The kinds of work.
const (
	WorkCall   WorkKind = iota // a call of the Registry
	WorkBatch                  // what many calls share: a commit ("batch") or a look at the engine ("look")
	WorkEngine                 // a call of the engine
)

// Work describes what begins, for [Observer.Begin]. There is nothing secret in it: no
// value, no token, no entity.
type Work struct {
	Kind WorkKind
	// Op is what is done: a verb in lower case ("reserve", "resolve", "apply" for
	// several commands), "batch" or "look", or what the engine is asked ("load").
	Op string
	// Namespace is where, as far as the call says so in one word.
	Namespace string
	// Size is how many commands, requests, records or groups it is about.
	Size int
	// Callers are the contexts of those who share a batch, for their traces. A batch
	// itself has none of their contexts: none of them can end it.
	Callers []context.Context
}
