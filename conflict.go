package dibs

import "time"

// ConflictsQuery selects conflict counters.
type ConflictsQuery struct {
	Namespace string    // empty means all
	From, To  time.Time // every hour that touches this span; zero means open
}

// ConflictBucket counts the refused attempts of one namespace, reason and hour.
type ConflictBucket struct {
	Start time.Time // the hour's beginning
	// Namespace is "*" where there were too many namespaces to tell apart, and "acme.*" where
	// too many of them began with acme.
	Namespace string
	// Reason is the [Reason] for a taken name; otherwise the error's code in lower
	// case.
	Reason string
	Count  uint64
}
