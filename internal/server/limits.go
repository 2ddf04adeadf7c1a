package server

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/limit"
)

// limits counts requests by caller and address.
type limits struct {
	proxies               limit.Proxies
	reads, writes, checks *limit.Buckets[string] // by principal
	addresses             *limit.Buckets[netip.Addr]
	signIns               *limit.Buckets[netip.Addr]

	gate, streams *limit.Semaphore
	// What one caller may take of both. Before admission the key is the credentials, which cost
	// nothing to read; after authentication it is the caller's name, because a caller may have
	// any number of tokens.
	gateByCredentials, gateByCaller, streamsByCaller *limit.Shares
	// Requests with large bodies, of all callers and of one: each may take as much memory as a
	// hundred others.
	large              *limit.Semaphore
	largeByCredentials *limit.Shares
	// goodCredentials have signed in, by the address that they came from.
	goodCredentials *limit.Seen

	log logLimiter
}

func newLimits(l limit.Limits) *limits {
	return &limits{
		proxies: l.Proxies,
		reads:   limit.NewBuckets[string](l.Reads), writes: limit.NewBuckets[string](l.Writes), checks: limit.NewBuckets[string](l.Checks),
		addresses: limit.NewBuckets[netip.Addr](l.PerAddress), signIns: limit.NewBuckets[netip.Addr](l.SignIn),
		gate: limit.NewSemaphore(l.MaxInFlight, l.MaxWaiting, l.MaxWait), streams: limit.NewSemaphore(l.MaxStreams, 0, 0),
		gateByCredentials: limit.NewShares(l.Share(l.MaxInFlight), l.Share(l.MaxWaiting), l.MaxWait),
		gateByCaller:      limit.NewShares(l.Share(l.MaxInFlight), 0, 0), streamsByCaller: limit.NewShares(l.Share(l.MaxStreams), 0, 0),
		large:              limit.NewSemaphore(largeShare(l.MaxInFlight), l.MaxWaiting, l.MaxWait),
		largeByCredentials: limit.NewShares(l.Share(largeShare(l.MaxInFlight)), l.Share(l.MaxWaiting), l.MaxWait),
		goodCredentials:    limit.NewSeen(),
	}
}

// largeBody is the size in bytes above which a body is large. Usual lists of names or commands
// are far smaller.
const largeBody = 64 << 10

// largeShare returns how many requests with large bodies may be in flight.
func largeShare(inFlight int) int {
	if inFlight == 0 {
		return 0
	}
	return max(1, inFlight/16)
}

// limitReason is why a request was rejected, as a label of metrics and logs.
type limitReason string

const (
	byPrincipal   limitReason = "principal"   // too many reads or writes of one caller
	byBulk        limitReason = "bulk"        // too many values checked by one caller
	byAddress     limitReason = "address"     // too many requests from one address
	bySignIn      limitReason = "signin"      // too many failed sign-ins from one address
	byShare       limitReason = "share"       // the caller has used up its share
	byInFlight    limitReason = "in_flight"   // too many requests in flight, and the queue is full
	byQueue       limitReason = "queue"       // the request waited too long in the queue
	byStreams     limitReason = "streams"     // too many streams are open
	byConnections limitReason = "connections" // too many connections are open
)

func limitReasons() []limitReason {
	return []limitReason{byPrincipal, byBulk, byAddress, bySignIn, byShare, byInFlight, byQueue, byStreams, byConnections}
}

// kind is the limit that a call counts against.
type kind int

const (
	reading kind = iota
	writing
	checking
	proxying // a proxy resolves for one of its visitors
)

// kindOf returns the kind of an operation.
func kindOf(op *huma.Operation) kind {
	switch op.OperationID {
	case "checkName", "checkNames":
		return checking
	case "resolveForwarded":
		return proxying
	case "lookUpName", "lookUpHistory", "lookUpResolve", "followResolve":
		return reading // the value is in the body
	}
	if op.Method == http.MethodGet {
		return reading
	}
	return writing
}

// pageCost is how many names or events on a page count as one read.
const pageCost = 100

// chargeMore counts n more of the request's kind.
func (s *Server) chargeMore(ctx context.Context, n int) *problem {
	r := infoOf(ctx)
	return s.charge(r, r.kind, n)
}

// chargePage counts a page that may return or scan size names or events, beyond the call itself.
// No page costs more than the smallest limit that can be configured.
func (s *Server) chargePage(r *requestInfo, size int) *problem {
	return s.charge(r, r.kind, min(size/pageCost, limit.LeastReads-1))
}

// chargeCommands counts commands by the names that they are about, beyond the call itself.
func (s *Server) chargeCommands(r *requestInfo, commands []dibs.Command, dryRun bool) *problem {
	names := 0
	for _, c := range commands {
		n := 1
		if count := s.commands[c.Op()].names; count != nil {
			// The registry refuses a list that is longer than the rules allow; it costs no more than
			// the longest one that they do allow.
			n = min(max(1, count(c)), maxCommands)
		}
		names += n
	}
	kind, most := r.kind, s.limits.writes.Rate().N
	if dryRun { // a dry run only reads
		kind, most = checking, s.limits.checks.Rate().N
	}
	// A cost above the bucket's size would always be refused.
	return s.charge(r, kind, min(names, most)-1)
}

// charge counts n of a kind against the request's principal, or returns a problem if that
// exceeds the limit. A request without a principal is not counted.
func (s *Server) charge(r *requestInfo, k kind, n int) *problem {
	buckets, policy, reason := s.limits.reads, "reads", byPrincipal
	switch k {
	case writing:
		buckets, policy = s.limits.writes, "writes"
	case checking:
		buckets, policy, reason = s.limits.checks, "checks", byBulk
	case proxying:
		if r.visitor.Proxy { // all its visitors would count as one caller
			return nil
		}
	case reading:
	}
	if buckets == nil || r.caller.Name == "" || n <= 0 {
		return nil
	}
	verdict := buckets.Take(r.caller.Name, n)
	if verdict.OK {
		showLimit(r.header, policy, buckets.Rate(), verdict)
		return nil
	}
	r.hideLimit()
	return s.tooMany(reason, policy, buckets.Rate(), verdict, fmt.Sprintf("this caller exceeds its limit of %s %s", buckets.Rate(), policy))
}

// tooMany returns the problem for a request over a limit, with Retry-After.
func (s *Server) tooMany(reason limitReason, policy string, r limit.Rate, v limit.Decision, detail string) *problem {
	s.rejected(reason)
	wait := max(1, seconds(v.Wait))
	p := newProblem(http.StatusTooManyRequests, "TOO_MANY_REQUESTS", fmt.Sprintf("%s: nothing happened; try again in %d s", detail, wait))
	p.header = http.Header{"Retry-After": {strconv.Itoa(wait)}}
	showLimit(p.header, policy, r, v)
	return p
}

// RateLimit and RateLimit-Policy in canonical form.
const rateLimit, rateLimitPolicy = "Ratelimit", "Ratelimit-Policy"

// hideLimit removes the headers of a limit that is not the one exceeded.
func (r *requestInfo) hideLimit() {
	delete(r.header, rateLimit)
	delete(r.header, rateLimitPolicy)
}

// showLimit sets the headers that tell a caller what is left of a limit, by the IETF draft on
// RateLimit header fields.
func showLimit(h http.Header, policy string, r limit.Rate, v limit.Decision) {
	h[rateLimit] = []string{`"` + policy + `";r=` + strconv.Itoa(v.Left) + ";t=" + strconv.Itoa(seconds(v.Wait))}
	h[rateLimitPolicy] = []string{`"` + policy + `";q=` + strconv.Itoa(r.N) + ";w=" + strconv.Itoa(seconds(r.Per))}
}

// seconds rounds up: a retry a moment too early would be rejected.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
