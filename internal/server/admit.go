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

// spared reports whether a request is always answered: whoever looks after a server has to
// see it when it has too much to do.
func spared(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/metrics":
		return true
	}
	return false
}

// admit lets a request in, or turns it away: before anything of it is read, and before its
// caller has signed in. A request that was let in has to leave.
func (s *Server) admit(w *recorder, r *http.Request) (leave func(), p *problem) {
	leave = func() {}
	surplus := isSurplus(r)
	if surplus {
		w.Header().Set("Connection", "close")
	}
	switch {
	case spared(r):
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

// enterShare lets a request into the share of its caller. All requests without credentials
// have one share together: they are strangers', or of a server that wants no key.
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

// notEntered is the answer to a request that its caller's share has no room for.
func (s *Server) notEntered(w *recorder, entry limit.Admission) *problem {
	if entry == limit.QueueFull {
		return s.overShare("requests")
	}
	return s.shed(w, byQueue)
}

// takeShare takes one of the places, or of the streams, that a caller may have at once.
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

// overShare is the answer to a caller that has taken its share already.
func (s *Server) overShare(of string) *problem {
	s.turnedAway(byShare)
	return newProblem(http.StatusTooManyRequests, "TOO_MANY_REQUESTS",
		"this caller has as many "+of+" open as one caller may: nothing happened; end some of them, or try again in a moment")
}

// chargeAddress counts a request against the address that it comes from.
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
	return s.tooMany(byAddress, "address", buckets.Rate(), verdict, fmt.Sprintf("more than the %s requests come from one address that may", buckets.Rate()))
}

// shed is the answer to a request for which there is no room. Not everybody is told to
// come again at the same time.
func (s *Server) shed(w *recorder, reason limitReason) *problem {
	s.turnedAway(reason)
	w.shed = true
	return &noRoom[rand.IntN(len(noRoom))]
}

// noRoom are the answers of shed, made beforehand: whoever has too much to do must not
// spend much on saying so.
var noRoom = func() (answers [2]problem) {
	for i := range answers {
		p := newProblem(http.StatusServiceUnavailable, string(dibs.CodeUnavailable), "the server has too much to do: nothing happened; try again in a moment")
		p.header = http.Header{"Retry-After": {strconv.Itoa(1 + i)}}
		p.encoded, _ = json.Marshal(&p.Problem)
		answers[i] = *p
	}
	return answers
}()
