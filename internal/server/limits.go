package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
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

func kindOf(op *huma.Operation) kind {
	switch op.OperationID {
	case "checkName", "checkNames":
		return checking
	case "resolveForwarded":
		return proxying
	case "lookUpName", "lookUpHistory", "lookUpResolve", "followResolve", "search":
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
		names += namesOf(c)
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

// alwaysAdmitted reports whether a request is answered whatever the load: operators need health
// and metrics most when the server is overloaded.
func alwaysAdmitted(r *http.Request) bool {
	return slices.Contains([]string{"/healthz", "/readyz", "/metrics"}, r.URL.Path)
}

// admit admits a request or rejects it, before its body is read and before its caller is
// authenticated. The caller of admit must call leave when an admitted request ends.
func (s *Server) admit(x *exchange, r *http.Request) (leave func(), p *problem) {
	leave = func() {}
	surplus := x.conn.surplus
	if surplus {
		x.Header().Set("Connection", "close")
	}
	switch {
	case alwaysAdmitted(r):
		return leave, nil
	case surplus:
		return nil, s.shed(x, byConnections)
	}
	if p := s.chargeAddress(x, r); p != nil {
		return nil, p
	}
	if streaming(r) {
		if s.limits.streams.Acquire(r.Context()) != limit.Admitted {
			return nil, s.shed(x, byStreams)
		}
		return s.limits.streams.Release, nil
	}
	leaveShare, p := s.enterShare(x, r)
	if p != nil {
		return nil, p
	}
	switch s.limits.gate.Acquire(r.Context()) {
	case limit.QueueFull:
		leaveShare()
		return nil, s.shed(x, byInFlight)
	case limit.TimedOut:
		leaveShare()
		return nil, s.shed(x, byQueue)
	case limit.Admitted:
	}
	s.cfg.Metrics.inFlight.Inc()
	return func() {
		s.cfg.Metrics.inFlight.Dec()
		s.limits.gate.Release()
		leaveShare()
	}, nil
}

// enterShare takes one of the slots of the request's caller. All requests without credentials
// share the same slots.
func (s *Server) enterShare(x *exchange, r *http.Request) (leave func(), p *problem) {
	caller := credentials(r)
	leaveShare, entry := s.limits.gateByCredentials.Acquire(r.Context(), caller)
	if entry != limit.Admitted {
		return nil, s.notEntered(x, entry)
	}
	if r.ContentLength >= 0 && r.ContentLength <= largeBody {
		return leaveShare, nil
	}
	leaveLarge, entry := s.limits.largeByCredentials.Acquire(r.Context(), caller)
	if entry != limit.Admitted {
		leaveShare()
		return nil, s.notEntered(x, entry)
	}
	if s.limits.large.Acquire(r.Context()) != limit.Admitted {
		leaveLarge()
		leaveShare()
		return nil, s.shed(x, byInFlight)
	}
	return func() {
		s.limits.large.Release()
		leaveLarge()
		leaveShare()
	}, nil
}

// notEntered returns the problem for a request whose caller has no free slot.
func (s *Server) notEntered(x *exchange, entry limit.Admission) *problem {
	if entry == limit.QueueFull {
		return s.overShare("requests")
	}
	return s.shed(x, byQueue)
}

// takeShare takes one of the requests, or of the streams, that a caller may have open at once.
func (s *Server) takeShare(r *http.Request, caller string) (leave func(), p *problem) {
	shares, of := s.limits.gateByCaller, "requests"
	if streaming(r) {
		shares, of = s.limits.streamsByCaller, "streams"
	}
	if caller == "" {
		return func() {}, nil
	}
	leave, entry := shares.Acquire(r.Context(), caller)
	if entry != limit.Admitted {
		return nil, s.overShare(of)
	}
	return leave, nil
}

func (s *Server) overShare(of string) *problem {
	s.rejected(byShare)
	return newProblem(http.StatusTooManyRequests, "TOO_MANY_REQUESTS",
		"this caller has the maximum of "+of+" per caller open: nothing happened; end some of them, or try again in a moment")
}

func (s *Server) chargeAddress(w http.ResponseWriter, r *http.Request) *problem {
	buckets := s.limits.addresses
	if buckets == nil {
		return nil
	}
	visitor := s.limits.proxies.Visitor(r)
	if !visitor.Known {
		return nil
	}
	verdict := buckets.Take(visitor.Addr, 1)
	if verdict.OK {
		showLimit(w.Header(), "address", buckets.Rate(), verdict)
		return nil
	}
	return s.tooMany(byAddress, "address", buckets.Rate(), verdict, fmt.Sprintf("this address has sent more than %s requests", buckets.Rate()))
}

// shed returns the problem for a request that the server has no capacity for. Retry-After varies,
// so that not all clients come back at the same time.
func (s *Server) shed(x *exchange, reason limitReason) *problem {
	s.rejected(reason)
	x.shed = true
	return &overloaded[rand.IntN(len(overloaded))]
}

// overloaded are the problems of shed, encoded beforehand: shedding must be cheap.
var overloaded = func() (answers [2]problem) {
	for i := range answers {
		p := newProblem(http.StatusServiceUnavailable, string(dibs.CodeUnavailable), "the server is overloaded: nothing happened; try again in a moment")
		p.header = http.Header{"Retry-After": {strconv.Itoa(1 + i)}}
		p.encoded, _ = json.Marshal(&p.Problem)
		answers[i] = *p
	}
	return answers
}()

// logEvery is how often the log repeats a message about requests of one reason: a flood of
// requests must not flood the log.
const logEvery = 10 * time.Second

type logLimiter struct {
	mu      sync.Mutex
	reasons map[limitReason]unlogged
}

// unlogged is how many requests came since the last message.
type unlogged struct {
	count int
	last  time.Time
}

// add counts one. If a message is due, it returns the count since the last message, else 0.
func (l *logLimiter) add(reason limitReason, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reasons == nil {
		l.reasons = make(map[limitReason]unlogged)
	}
	u := l.reasons[reason]
	u.count++
	if now.Sub(u.last) < logEvery {
		l.reasons[reason] = u
		return 0
	}
	l.reasons[reason] = unlogged{last: now}
	return u.count
}

// Reasons of the log limiter alone.
const (
	byFailure limitReason = "failure" // requests that could not be answered
	byPing    limitReason = "ping"    // pings of an engine that does not answer
)

// rejected counts a rejected request, and logs it if a message is due.
func (s *Server) rejected(reason limitReason) {
	s.cfg.Metrics.limited.WithLabelValues(string(reason)).Inc()
	if n := s.limits.log.add(reason, time.Now()); n > 0 {
		s.cfg.Logger.Warn("requests rejected", "reason", string(reason), "requests", n)
	}
}

// logFailure logs that requests could not be answered, if a message is due. The health monitor
// logs failures of the store, and a client that disconnected is not a failure.
func (s *Server) logFailure(e *dibs.Error) {
	if e.Code != dibs.CodeUnavailable && e.Code != dibs.CodeOutcomeUnknown { // it was answered
		return
	}
	_, failing := s.cfg.Health.Failing()
	if errors.Is(e, context.Canceled) || e.Cause != "" && failing {
		return
	}
	s.warn(byFailure, "requests could not be answered", "requests", "error", e)
}

// warn logs a message about requests of one reason, with their count, if one is due.
func (s *Server) warn(reason limitReason, message, counted string, args ...any) {
	if n := s.limits.log.add(reason, time.Now()); n > 0 {
		s.cfg.Logger.Warn(message, append(args, counted, n)...)
	}
}
