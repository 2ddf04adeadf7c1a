package server

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/calldibs/dibs"
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

// byToken applies a command that proves by a token that a hold is the caller's, if it comes
// with one.
func (s *Server) byToken(ctx context.Context, command dibs.Command) (*answer[wire.Name], error) {
	if id, token, is := s.proofOf(command); is {
		if p := s.mayTry(visitOf(ctx), id, token); p != nil {
			return nil, p
		}
	}
	results, err := s.registry(ctx).Apply(ctx, command)
	s.triedAll(ctx, []dibs.Command{command}, err)
	if err != nil {
		return nil, s.problemOf(err)
	}
	return ok(wire.ResultOf(results[0]).Names[0]), nil
}

// proofOf returns the token that a command comes with, and for which reservation.
func (s *Server) proofOf(command dibs.Command) (id dibs.ID, token string, is bool) {
	switch c := command.(type) {
	case dibs.Extend:
		return c.ID, c.Token, true
	case dibs.Confirm:
		return c.ID, c.Token, true
	case dibs.Release:
		return c.ID, c.Token, true
	case dibs.Rename:
		id, is = s.idOf(c.Namespace, c.Value)
		return id, c.Token, is && c.Token != ""
	default:
		return id, "", false
	}
}

// idOf returns the id of the reservation that a name has. In a blind namespace it is another
// one than the reservation's, and the same for every spelling of the name, which will do to
// count by.
func (s *Server) idOf(namespace, value string) (id dibs.ID, ok bool) {
	policy, err := s.cfg.Registry.Policy(namespace)
	if err != nil {
		return id, false
	}
	canonical, err := policy.Profile.Canonical(value)
	if err != nil {
		return id, false
	}
	return dibs.NameID(namespace, canonical), true
}

// mayTry refuses a caller that has been wrong about a reservation's token too often, or would
// be if all of these tokens were wrong. A token that was good here before is let through all
// the same: an application in front may send the requests of a guesser and of the holder alike.
func (s *Server) mayTry(v *visit, id dibs.ID, tokens ...string) *problem {
	buckets, by := s.limits.wrongTokens, attemptOf(v, id)
	if buckets.Peek(by, len(tokens)).OK {
		return nil
	}
	good := func(token string) bool { return s.limits.proofs.Has(string(id[:]), token) }
	verdict := buckets.Peek(by, len(slices.DeleteFunc(tokens, good)))
	if verdict.OK {
		return nil
	}
	v.hideLimit()
	return s.tooMany(byWrongToken, "wrongTokens", buckets.Rate(), verdict, "this caller was wrong about the token of this reservation too often")
}

// mayApplyNow refuses a list of commands that is too much for now.
func (s *Server) mayApplyNow(ctx context.Context, commands []dibs.Command, dryRun bool) *problem {
	v := visitOf(ctx)
	shown := make(map[dibs.ID][]string)
	for _, command := range commands {
		if id, token, is := s.proofOf(command); is && !slices.Contains(shown[id], token) {
			shown[id] = append(shown[id], token)
		}
	}
	for id, tokens := range shown {
		if p := s.mayTry(v, id, tokens...); p != nil {
			return p
		}
	}
	kind, most := v.kind, s.limits.writes.Rate().N
	if dryRun { // that asks, and changes nothing
		kind, most = checking, s.limits.checks.Rate().N
	}
	return s.charge(v, kind, min(namesIn(commands), most)-1) // more than there can ever be would be refused for ever
}

// namesIn returns how many names commands are about, which is what they are counted as.
func namesIn(commands []dibs.Command) (n int) {
	for _, command := range commands {
		switch c := command.(type) {
		case dibs.ReserveAll:
			n += max(1, len(c.Reservations))
		case dibs.ReserveFirst:
			n += max(1, len(c.Values))
		default:
			n++
		}
	}
	return n
}

// triedAll notes which tokens were wrong, and which were good.
func (s *Server) triedAll(ctx context.Context, commands []dibs.Command, err error) {
	if s.limits.wrongTokens == nil {
		return
	}
	wrong := wrongOnes(commands, err)
	for i, command := range commands {
		id, token, is := s.proofOf(command)
		switch {
		case !is:
		case wrong[i]:
			s.limits.wrongTokens.Take(attemptOf(visitOf(ctx), id), 1)
		case err == nil:
			s.limits.proofs.Add(string(id[:]), token)
		}
	}
}

// wrongOnes returns which commands were refused because of their token.
func wrongOnes(commands []dibs.Command, err error) map[int]bool {
	var refused *dibs.Error
	if !errors.As(err, &refused) {
		return nil
	}
	wrong := make(map[int]bool)
	if len(commands) == 1 { // its failures are its own parts
		wrong[0] = wrongToken(commands[0], refused)
		return wrong
	}
	for _, f := range refused.Failures {
		wrong[f.Index] = wrongToken(commands[f.Index], f.Err)
	}
	return wrong
}

// wrongToken reports whether a command was refused because of its token. To a rename with
// another token the name is held by another, as it is to one without.
func wrongToken(command dibs.Command, err *dibs.Error) bool {
	if _, ok := command.(dibs.Rename); ok {
		return err.Code == dibs.CodeNameTaken && (err.Reason == dibs.ReasonHeld || err.Reason == dibs.ReasonSuspect)
	}
	return err.Code == dibs.CodeLost
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
