package routestore

import "time"

// ChangeWait is how long Open waits for processes with other routes.
const ChangeWait = changeWait

// CheckEvery is how often a process reads the stored routes.
const CheckEvery = checkEvery

// CommitTime is how long a commit may take beyond a lease.
const CommitTime = commitTime

// LeaseTime is how long a process relies on the stored routes.
const LeaseTime = leaseTime

// WithWait makes Open wait less, for a test without other processes.
func (c Config) WithWait(wait time.Duration) Config {
	c.wait = wait
	return c
}
