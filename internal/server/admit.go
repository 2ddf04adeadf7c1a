package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/limit"
)

// alwaysAdmitted reports whether a request is answered whatever the load: operators need health
// and metrics most when the server is overloaded.
func alwaysAdmitted(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/metrics":
		return true
	}
	return false
}

// admit admits a request or rejects it, before its body is read and before its caller is
// authenticated. The caller of admit must call leave when an admitted request ends.
func (s *Server) admit(w *recorder, r *http.Request) (leave func(), p *problem) {
	leave = func() {}
	surplus := connectionOf(r).surplus
	if surplus {
		w.Header().Set("Connection", "close")
	}
	switch {
	case alwaysAdmitted(r):
		return leave, nil
	case surplus:
		return nil, s.shed(w, byConnections)
	}
	if p := s.chargeAddress(w, r); p != nil {
		return nil, p
	}
	if streaming(r) {
		if s.limits.streams.Acquire(r.Context()) != limit.Admitted {
			return nil, s.shed(w, byStreams)
		}
		return s.limits.streams.Release, nil
	}
	leaveShare, p := s.enterShare(w, r)
	if p != nil {
		return nil, p
	}
	switch s.limits.gate.Acquire(r.Context()) {
	case limit.QueueFull:
		leaveShare()
		return nil, s.shed(w, byInFlight)
	case limit.TimedOut:
		leaveShare()
		return nil, s.shed(w, byQueue)
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
func (s *Server) enterShare(w *recorder, r *http.Request) (leave func(), p *problem) {
	caller := credentials(r)
	leaveShare, entry := s.limits.gateByCredentials.Acquire(r.Context(), caller)
	if entry != limit.Admitted {
		return nil, s.notEntered(w, entry)
	}
	if r.ContentLength >= 0 && r.ContentLength <= largeBody {
		return leaveShare, nil
	}
	leaveLarge, entry := s.limits.largeByCredentials.Acquire(r.Context(), caller)
	if entry != limit.Admitted {
		leaveShare()
		return nil, s.notEntered(w, entry)
	}
	if s.limits.large.Acquire(r.Context()) != limit.Admitted {
		leaveLarge()
		leaveShare()
		return nil, s.shed(w, byInFlight)
	}
	return func() {
		s.limits.large.Release()
		leaveLarge()
		leaveShare()
	}, nil
}

// notEntered returns the problem for a request whose caller has no free slot.
func (s *Server) notEntered(w *recorder, entry limit.Admission) *problem {
	if entry == limit.QueueFull {
		return s.overShare("requests")
	}
	return s.shed(w, byQueue)
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

// overShare returns the problem for a caller that has used up its share.
func (s *Server) overShare(of string) *problem {
	s.rejected(byShare)
	return newProblem(http.StatusTooManyRequests, "TOO_MANY_REQUESTS",
		"this caller has the maximum of "+of+" per caller open: nothing happened; end some of them, or try again in a moment")
}

// chargeAddress counts a request against its address.
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
func (s *Server) shed(w *recorder, reason limitReason) *problem {
	s.rejected(reason)
	w.shed = true
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
