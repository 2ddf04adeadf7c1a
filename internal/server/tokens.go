package server

import (
	"context"
	"errors"
	"net/netip"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/wire"
)

// attempt is what wrong tokens are counted by. Were it the reservation alone, whoever
// guesses could keep its holder from it.
type attempt struct {
	id     dibs.ID
	caller string
	addr   netip.Addr
}

func attemptOf(v *visit, id dibs.ID) attempt { return attempt{id, v.caller.Name, v.visitor.Addr} }

// byToken applies a command that proves by a token that a hold is the caller's.
func (s *Server) byToken(ctx context.Context, command dibs.Command) (*answer[wire.Name], error) {
	id, token, _ := proofOf(command)
	if p := s.mayTry(visitOf(ctx), id, token); p != nil {
		return nil, p
	}
	results, err := s.registry(ctx).Apply(ctx, command)
	s.triedAll(ctx, []dibs.Command{command}, err)
	if err != nil {
		return nil, s.problemOf(err)
	}
	return ok(wire.ResultOf(results[0]).Names[0]), nil
}

// proofOf returns the token that a command comes with, and for which reservation.
func proofOf(command dibs.Command) (id dibs.ID, token string, is bool) {
	switch c := command.(type) {
	case dibs.Extend:
		return c.ID, c.Token, true
	case dibs.Confirm:
		return c.ID, c.Token, true
	case dibs.Release:
		return c.ID, c.Token, true
	default:
		return id, "", false
	}
}

// mayTry refuses whoever has been wrong about a reservation's token too often. A token that
// was good here before is let through all the same: an application in front may send the
// requests of a guesser and of the holder alike.
func (s *Server) mayTry(v *visit, id dibs.ID, token string) *problem {
	buckets := s.limits.wrongTokens
	verdict, empty := buckets.Empty(attemptOf(v, id))
	if !empty || s.limits.proofs.Has(string(id[:]), token) {
		return nil
	}
	v.hideLimit()
	return s.tooMany(byWrongToken, "wrongTokens", buckets.Rate(), verdict, "this caller was wrong about the token of this reservation too often")
}

// mayApplyNow refuses a list of commands that is too much for now.
func (s *Server) mayApplyNow(ctx context.Context, commands []dibs.Command, dryRun bool) *problem {
	v := visitOf(ctx)
	for _, command := range commands {
		if id, token, is := proofOf(command); is {
			if p := s.mayTry(v, id, token); p != nil {
				return p
			}
		}
	}
	kind := v.kind
	if dryRun { // that asks, and changes nothing
		kind = checking
	}
	return s.charge(v, kind, min(len(commands), limit.LeastWrites)-1)
}

// triedAll notes which tokens were wrong, and which were good.
func (s *Server) triedAll(ctx context.Context, commands []dibs.Command, err error) {
	if s.limits.wrongTokens == nil {
		return
	}
	wrong := wrongOnes(len(commands), err)
	for i, command := range commands {
		id, token, is := proofOf(command)
		switch {
		case !is:
		case wrong[i]:
			s.limits.wrongTokens.Take(attemptOf(visitOf(ctx), id), 1)
		case err == nil:
			s.limits.proofs.Add(string(id[:]), token)
		}
	}
}

// wrongOnes returns which of so many commands were refused because of their token.
func wrongOnes(n int, err error) map[int]bool {
	var refused *dibs.Error
	if !errors.As(err, &refused) {
		return nil
	}
	wrong := make(map[int]bool)
	if n == 1 && refused.Code == dibs.CodeLost {
		wrong[0] = true
	}
	for _, f := range refused.Failures {
		if f.Err.Code == dibs.CodeLost {
			wrong[f.Index] = true
		}
	}
	return wrong
}

// proven notes the tokens of holds.
func (l *limits) proven(holds ...dibs.Hold) {
	if l.wrongTokens == nil {
		return
	}
	for _, h := range holds {
		l.proofs.Add(string(h.ID[:]), h.Token)
	}
}
