// Package limit bounds what callers can ask of a server: how often, how many at once, and
// how long they may wait. It knows nothing of names.
package limit

import "time"

// Limits are the bounds of a server. The zero Limits are none at all; those of a server
// that is told nothing are [Defaults].
type Limits struct {
	// Reads, Writes and Checks are what one caller may ask for: questions, changes, and
	// values that it asks about.
	Reads, Writes, Checks Rate
	// PerAddress is how many requests may come from one address, see [Proxies.Visitor].
	PerAddress Rate
	// SignIn is how often one address may fail to sign in.
	SignIn Rate
	// WrongTokens is how often one caller may be wrong about the token of a reservation.
	WrongTokens Rate

	// MaxInFlight is how many requests are worked on at once, and MaxWaiting how many wait
	// for that, each for MaxWait at the most. Zero in flight means any number.
	MaxInFlight, MaxWaiting int
	MaxWait                 time.Duration
	// MaxStreams is how many streams of events may be open. Zero means any number.
	MaxStreams int
	// CallerShare is how much of MaxInFlight, MaxWaiting and MaxStreams one caller may take,
	// in percent. Zero means all.
	CallerShare int
	// MaxConnections is how many connections may be open. Zero means any number.
	MaxConnections int

	// Proxies are those whose word counts on whom they ask for.
	Proxies Proxies
}

// Share returns how much of so many one caller may take: at least one, and zero where that
// is not limited.
func (l Limits) Share(n int) int {
	if n == 0 || l.CallerShare == 0 || l.CallerShare == 100 {
		return 0
	}
	return max(1, n*l.CallerShare/100)
}

// The least rates that leave room for the largest single request: a page of names, a list
// of commands, a check.
const (
	LeastReads  = 10
	LeastWrites = 32
	LeastChecks = 100
)

// Defaults are the limits of a server that is told nothing: far above what an application
// asks for, and below what would take a server from all others.
func Defaults() Limits {
	return Limits{
		Reads:       Rate{20_000, time.Second},
		Writes:      Rate{10_000, time.Second},
		Checks:      Rate{2000, time.Second},
		PerAddress:  Rate{20_000, time.Second},
		SignIn:      Rate{30, time.Minute},
		WrongTokens: Rate{10, time.Minute},

		MaxInFlight: 512, MaxWaiting: 10_000, MaxWait: time.Second,
		MaxStreams: 1024, CallerShare: 75, MaxConnections: 12_000,

		Proxies: Proxies{Header: XForwardedFor},
	}
}
