package dibs

import (
	"log/slog"
	"time"
)

// Config is how a Registry works. The zero Config is a good one: each field says
// what its zero value means.
type Config struct {
	// Policies are what namespaces allow, by the whole namespace ("acme.slug") or by its type
	// ("slug"); the whole namespace comes first. Nil means profile.Policies(): slugs, usernames,
	// emails and host names. An empty map means that Default is the policy of every namespace.
	Policies map[string]Policy
	// Default is the policy of all other namespaces.
	Default Policy

	// SweepEvery is about how often a sweeper runs in the background, with jitter. Zero means
	// every 10 seconds. A negative value means that there is none: call [Registry.Sweep] yourself.
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
