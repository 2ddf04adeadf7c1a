package dibs

import (
	"context"
	"log/slog"
	"time"
)

// Config is how a Registry works. The zero Config is a good one: each field says
// what its zero value means.
type Config struct {
	// Policies are what namespaces allow, by the whole namespace ("acme.slug") or
	// by its type ("slug"); the whole namespace comes first.
	Policies map[string]Policy
	// Default is the policy of all other namespaces.
	Default Policy

	// SweepEvery lets a sweeper run in the background, about this often, with
	// jitter. Zero means that there is none: call [Registry.Sweep] yourself.
	SweepEvery time.Duration

	// QueueSize is how many commands may wait for the writer. Once it is full
	// further callers wait to get in. Zero means 4,096.
	QueueSize int
	// MaxBatch is how many waiting commands are committed together. Zero means 512.
	MaxBatch int
	// Writers is how many batches may be under way at once. Zero means what the
	// engine says, see [Parallel]; 1 where it says nothing.
	Writers int

	// PollEvery is how often Watch looks for events of other processes. What this
	// Registry commits itself is seen at once. Zero means 250 ms.
	PollEvery time.Duration
	// Suggestions is how many free names a NAME_TAKEN error offers. Zero means 3,
	// a negative number none.
	Suggestions int
	// ConflictHistory is how long conflict counters are kept. Zero means 90 days.
	ConflictHistory time.Duration

	// Logger is told what a person may want to know. Nil means nobody is told.
	Logger *slog.Logger
	// Observer is told about outcomes, latencies and batches.
	Observer Observer
}

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
