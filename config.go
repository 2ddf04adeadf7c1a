package dibs

import (
	"log/slog"
	"time"
)

// Config is the configuration of an embedded Registry. The zero Config is valid and means the
// same as a server's defaults.
type Config struct {
	// Policies are the policies of namespaces, by namespace ("acme.slug") or by type ("slug");
	// a namespace takes precedence over its type. Nil means profile.Policies(): slugs,
	// usernames, emails and host names, without reserved words, and usernames without mixed
	// scripts and look-alikes. profile.Defaults switches these checks off one by one. An empty
	// map means Default for all.
	Policies map[string]Policy
	// Default is the policy of all other namespaces. The zero Policy is valid.
	Default Policy

	// SweepEvery is the interval of the background sweeper, with jitter. Zero means 10 seconds.
	// Negative means no sweeper: call [Registry.Sweep].
	SweepEvery time.Duration

	// QueueSize is how many commands may wait for a writer. If the queue is full, further
	// callers block. Zero means 4,096.
	QueueSize int
	// MaxBatch is how many waiting commands one batch commits. Zero means 512.
	MaxBatch int
	// Writers is how many batches may be in progress at once. Zero means the engine's choice,
	// see [Parallel], or 1 if it has none.
	Writers int

	// PollEvery is how often Watch looks for events of other processes. It sees those of this
	// Registry at once. Zero means 250 ms.
	PollEvery time.Duration
	// Suggestions is how many names a NAME_TAKEN error offers. Zero means 3, negative none.
	Suggestions int
	// ConflictHistory is how long conflict counters are kept. Zero means 90 days.
	ConflictHistory time.Duration

	// Logger receives messages for operators. Nil means that nothing is logged.
	Logger *slog.Logger
	// Observer receives outcomes, latencies and batches. The zero Observer receives nothing.
	Observer Observer
}
