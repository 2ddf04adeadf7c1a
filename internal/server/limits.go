package server

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs/internal/limit"
)

// limits is what callers are counted by.
type limits struct {
	proxies               limit.Proxies
	reads, writes, checks *limit.Buckets[string] // by principal
	addresses             *limit.Buckets[netip.Addr]
	signIns               *limit.Buckets[netip.Addr]
	wrongTokens           *limit.Buckets[attempt]

	gate, streams *limit.Semaphore
	// What one caller may take of both. Before a request is let in, its caller is told by its
	// credentials, which cost nothing to look at; afterwards by its name, since a caller may
	// have any number of tokens.
	gateByCredentials, gateByCaller, streamsByCaller *limit.Shares
	// Requests with large bodies, of all and of one caller: each may take as much memory as a
	// hundred others.
	large              *limit.Semaphore
	largeByCredentials *limit.Shares
	// regulars are credentials that were good, by the address that they came from.
	regulars *limit.Seen
	// proofs are tokens that were good, by the reservation.
	proofs *limit.Seen

	news news
}

func newLimits(l limit.Limits) *limits {
	return &limits{
		proxies: l.Proxies,
		reads:   limit.NewBuckets[string](l.Reads), writes: limit.NewBuckets[string](l.Writes), checks: limit.NewBuckets[string](l.Checks),
		addresses: limit.NewBuckets[netip.Addr](l.PerAddress), signIns: limit.NewBuckets[netip.Addr](l.SignIn),
		wrongTokens: limit.NewBuckets[attempt](l.WrongTokens),
		gate:        limit.NewSemaphore(l.MaxInFlight, l.MaxWaiting, l.MaxWait), streams: limit.NewSemaphore(l.MaxStreams, 0, 0),
		gateByCredentials: limit.NewShares(l.Share(l.MaxInFlight), l.Share(l.MaxWaiting), l.MaxWait),
		gateByCaller:      limit.NewShares(l.Share(l.MaxInFlight), 0, 0), streamsByCaller: limit.NewShares(l.Share(l.MaxStreams), 0, 0),
		large:              limit.NewSemaphore(largeShare(l.MaxInFlight), l.MaxWaiting, l.MaxWait),
		largeByCredentials: limit.NewShares(l.Share(largeShare(l.MaxInFlight)), l.Share(l.MaxWaiting), l.MaxWait),
		regulars:           limit.NewSeen(), proofs: limit.NewSeen(),
	}
}

// largeBody is from how many bytes on a body is large: what a list of names or commands has
// is far below.
const largeBody = 64 << 10

// largeShare is how many requests with large bodies may be in flight, of so many requests.
func largeShare(inFlight int) int {
	if inFlight == 0 {
		return 0
	}
	return max(1, inFlight/16)
}

// limitReason is why a request was turned away; what that is counted by.
type limitReason string

const (
	byPrincipal   limitReason = "principal"   // reads or writes of one caller
	byBulk        limitReason = "bulk"        // values that one caller asks about
	byAddress     limitReason = "address"     // requests of one address
	bySignIn      limitReason = "signin"      // it failed to sign in too often
	byWrongToken  limitReason = "wrong_token" // it was wrong about the token of a reservation too often
	byShare       limitReason = "share"       // its caller has taken its share of all places
	byInFlight    limitReason = "in_flight"   // too many are worked on, and too many wait
	byQueue       limitReason = "queue"       // it has waited for too long
	byStreams     limitReason = "streams"     // too many streams are open
	byConnections limitReason = "connections" // too many connections are
)

func limitReasons() []limitReason {
	return []limitReason{byPrincipal, byBulk, byAddress, bySignIn, byWrongToken, byShare, byInFlight, byQueue, byStreams, byConnections}
}

// kind is what a call is counted as.
type kind int

const (
	reading kind = iota
	writing
	checking
	passing // a proxy's question about a visitor of its own
)

// kindOf says what an operation is counted as.
func kindOf(op *huma.Operation) kind {
	switch op.OperationID {
	case "checkName", "checkNames":
		return checking
	case "resolveForwarded":
		return passing
	case "lookUpName", "lookUpHistory", "lookUpResolve", "followResolve":
		return reading // with the value in the body
	}
	if op.Method == http.MethodGet {
		return reading
	}
	return writing
}

// pageCost is how many names or events on a page count as one read.
const pageCost = 100

// chargeMore counts so many more of the kind that a request is.
func (s *Server) chargeMore(ctx context.Context, n int) *problem {
	v := visitOf(ctx)
	return s.charge(v, v.kind, n)
}

// chargePage counts a page that may have, or takes a look at, so many names or events, beyond
// the call itself. No page is more than the least that a caller may be allowed at once.
func (s *Server) chargePage(v *visit, size int) *problem {
	return s.charge(v, v.kind, min(size/pageCost, limit.LeastReads-1))
}

// charge counts so many of a kind against the principal of a visit, or says that they are too
// many. A visit without a principal is not counted.
func (s *Server) charge(v *visit, k kind, n int) *problem {
	buckets, policy, reason := s.limits.reads, "reads", byPrincipal
	switch k {
	case writing:
		buckets, policy = s.limits.writes, "writes"
	case checking:
		buckets, policy, reason = s.limits.checks, "checks", byBulk
	case passing:
		if v.visitor.Proxy { // all its visitors would be counted as one
			return nil
		}
	case reading:
	}
	if buckets == nil || v.caller.Name == "" || n <= 0 {
		return nil
	}
	verdict := buckets.Take(v.caller.Name, n)
	if verdict.OK {
		showLimit(v.header, policy, buckets.Rate(), verdict)
		return nil
	}
	v.hideLimit()
	return s.tooMany(reason, policy, buckets.Rate(), verdict, fmt.Sprintf("this caller asks for more than the %s %s that it may", buckets.Rate(), policy))
}

// tooMany is the answer to who asks too often. It tells when to come again.
func (s *Server) tooMany(reason limitReason, policy string, r limit.Rate, v limit.Decision, detail string) *problem {
	s.turnedAway(reason)
	wait := max(1, seconds(v.Wait))
	p := newProblem(http.StatusTooManyRequests, "TOO_MANY_REQUESTS", fmt.Sprintf("%s: nothing happened; try again in %d s", detail, wait))
	p.header = http.Header{"Retry-After": {strconv.Itoa(wait)}}
	showLimit(p.header, policy, r, v)
	return p
}

// RateLimit and RateLimit-Policy, as a map of headers has them.
const rateLimit, rateLimitPolicy = "Ratelimit", "Ratelimit-Policy"

// hideLimit takes back what an answer says about a limit, since it is about another one.
func (v *visit) hideLimit() {
	delete(v.header, rateLimit)
	delete(v.header, rateLimitPolicy)
}

// showLimit tells a caller what is left of a limit, as the IETF's draft on RateLimit header
// fields has it.
func showLimit(h http.Header, policy string, r limit.Rate, v limit.Decision) {
	var b strings.Builder
	text := func(first string, n int, second string, m int) string {
		b.Reset()
		b.WriteString(`"` + policy + `"` + first)
		b.WriteString(strconv.Itoa(n))
		b.WriteString(second)
		b.WriteString(strconv.Itoa(m))
		return b.String()
	}
	h[rateLimit] = []string{text(";r=", v.Left, ";t=", seconds(v.Wait))}
	h[rateLimitPolicy] = []string{text(";q=", r.N, ";w=", seconds(r.Per))}
}

// seconds rounds up: who comes a moment too early has come in vain.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
