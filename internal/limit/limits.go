// Package limit limits the callers of a server: their rates, their concurrent requests, and how
// long they wait. It has no rule about names.
package limit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits are the limits of a server. The zero value means no limits; see [Defaults].
type Limits struct {
	// Reads, Writes and Checks are the rates of one caller: requests that read, requests that
	// change, and values to check.
	Reads, Writes, Checks Rate
	// PerAddress is the rate of requests from one address, see [Proxies.Visitor].
	PerAddress Rate
	// SignIn is the rate at which one address may fail to sign in.
	SignIn Rate

	// MaxInFlight is the number of concurrent requests, and MaxWaiting how many others wait,
	// for up to MaxWait. Zero MaxInFlight means no limit.
	MaxInFlight, MaxWaiting int
	MaxWait                 time.Duration
	// MaxStreams is the number of open event streams. Zero means no limit.
	MaxStreams int
	// CallerShare is the percentage of MaxInFlight, MaxWaiting and MaxStreams that one caller
	// may take. Zero means all.
	CallerShare int
	// MaxConnections is the number of open connections. Zero means no limit.
	MaxConnections int

	// Proxies are the trusted proxies.
	Proxies Proxies
}

// Share returns the share of n that one caller may take: at least one, or zero for no limit.
func (l Limits) Share(n int) int {
	if n == 0 || l.CallerShare == 0 || l.CallerShare == 100 {
		return 0
	}
	return max(1, n*l.CallerShare/100)
}

// The lowest rates that admit the largest single request: a page of names, a list of commands,
// a check.
const (
	LeastReads  = 10
	LeastWrites = 32
	LeastChecks = 100
)

// Defaults returns limits far above the needs of an application, and low enough that one caller
// cannot occupy the server.
func Defaults() Limits {
	return Limits{
		Reads:      Rate{20_000, time.Second},
		Writes:     Rate{10_000, time.Second},
		Checks:     Rate{2000, time.Second},
		PerAddress: Rate{20_000, time.Second},
		SignIn:     Rate{30, time.Minute},

		MaxInFlight: 512, MaxWaiting: 10_000, MaxWait: time.Second,
		MaxStreams: 1024, CallerShare: 75, MaxConnections: 12_000,

		Proxies: Proxies{Header: XForwardedFor},
	}
}

// Rate is N per duration. All N may be used at once, and refill evenly. The zero Rate means no
// limit.
type Rate struct {
	N   int
	Per time.Duration
}

const off = "off"

var spans = []struct {
	name string
	span time.Duration
}{{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}}

// maxRate keeps sums of rates far from an overflow.
const maxRate = 1_000_000_000

// ParseRate parses "500/s", "10/m", "100/h" or "off".
func ParseRate(text string) (Rate, error) {
	if text == off {
		return Rate{}, nil
	}
	number, unit, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(number)
	if err == nil && n > 0 && n <= maxRate {
		for _, s := range spans {
			if s.name == unit {
				return Rate{n, s.span}, nil
			}
		}
	}
	return Rate{}, fmt.Errorf(`%q is not a rate: write it like "500/s", "10/m", "100/h" or "off"`, text)
}

// Off reports whether there is no limit.
func (r Rate) Off() bool { return r.N == 0 }

// String returns the rate as [ParseRate] parses it.
func (r Rate) String() string {
	if r.Off() {
		return off
	}
	for _, s := range spans {
		if s.span == r.Per {
			return strconv.Itoa(r.N) + "/" + s.name
		}
	}
	return strconv.Itoa(r.N) + "/" + r.Per.String()
}
