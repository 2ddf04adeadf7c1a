package routestore

import "time"

// SettleTime is how long Open waits for processes with other routes.
const SettleTime = settleTime

// CheckEvery is how often what is on record is looked at.
const CheckEvery = checkEvery

// CommitTime is how long a commit may take beyond a lease.
const CommitTime = commitTime

// LeaseTime is how long what is on record may be relied on.
const LeaseTime = leaseTime

// Hasten lets Open wait less, for a test that nobody else's routes are in the way of.
func (c Config) Hasten(wait time.Duration) Config {
	c.settle = wait
	return c
}
