package server

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/calldibs/dibs"
)

// attempt is the key by which wrong tokens are counted. It has the caller in it: otherwise a
// guesser could lock out the holder of a reservation.
type attempt struct {
	id     dibs.ID
	caller string
	addr   netip.Addr
}

func attemptOf(r *requestInfo, id dibs.ID) attempt {
	return attempt{id, r.caller.Name, r.visitor.Addr}
}

// tokenOf returns the token that a command shows, and for which reservation.
func (s *Server) tokenOf(c dibs.Command) (id dibs.ID, token string, shown bool) {
	if token := s.typeOf(c).token; token != nil {
		return token(s, c)
	}
	return id, "", false
}

// idOf returns a reservation's id by its name, to count by. In a blind namespace it is not the
// id that the registry uses, but still the same for every spelling of the name.
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

// mayTry refuses a caller that has shown too many wrong tokens for a reservation, or would have
// if all of these were wrong. A token that was right before passes: an application in front may
// send the requests of a guesser and of the holder with the same key.
func (s *Server) mayTry(r *requestInfo, id dibs.ID, tokens ...string) *problem {
	buckets, by := s.limits.wrongTokens, attemptOf(r, id)
	if buckets.Peek(by, len(tokens)).OK {
		return nil
	}
	right := func(token string) bool { return s.limits.rightTokens.Has(string(id[:]), token) }
	verdict := buckets.Peek(by, len(slices.DeleteFunc(tokens, right)))
	if verdict.OK {
		return nil
	}
	r.hideLimit()
	return s.tooMany(byWrongToken, "wrongTokens", buckets.Rate(), verdict, "this caller has sent too many wrong tokens for this reservation")
}

// chargeCommands refuses commands that exceed the caller's limits, and counts the others.
func (s *Server) chargeCommands(ctx context.Context, commands []dibs.Command, dryRun bool) *problem {
	r := infoOf(ctx)
	tokens := make(map[dibs.ID][]string)
	for _, c := range commands {
		if id, token, shown := s.tokenOf(c); shown && !slices.Contains(tokens[id], token) {
			tokens[id] = append(tokens[id], token)
		}
	}
	for id, tokens := range tokens {
		if p := s.mayTry(r, id, tokens...); p != nil {
			return p
		}
	}
	kind, most := r.kind, s.limits.writes.Rate().N
	if dryRun { // a dry run only reads
		kind, most = checking, s.limits.checks.Rate().N
	}
	// A cost above the bucket's size would always be refused.
	return s.charge(r, kind, min(s.countNames(commands), most)-1)
}

// countNames returns how many names commands are about, which is their cost. A list that is
// longer than the rules allow costs no more than the longest that they do allow.
func (s *Server) countNames(commands []dibs.Command) (n int) {
	for _, c := range commands {
		names := 1
		if count := s.typeOf(c).names; count != nil {
			names = min(max(1, count(c)), maxCommands)
		}
		n += names
	}
	return n
}

// noteTokens counts the tokens that were wrong, and remembers those that were right.
func (s *Server) noteTokens(ctx context.Context, commands []dibs.Command, results []dibs.Result, err error) {
	if s.limits.wrongTokens == nil {
		return
	}
	refusals := refusalsOf(commands, err)
	for i, c := range commands {
		id, token, shown := s.tokenOf(c)
		switch {
		case shown && refusals[i] != nil && s.isWrongToken(c, refusals[i]):
			s.limits.wrongTokens.Take(attemptOf(infoOf(ctx), id), 1)
		case shown && err == nil:
			s.limits.rightTokens.Add(string(id[:]), token)
		case err == nil && results[i].Token != "": // a new hold
			for _, name := range results[i].Names {
				s.limits.rightTokens.Add(string(name.ID[:]), results[i].Token)
			}
		}
	}
}

// refusalsOf returns why commands were refused, by index.
func refusalsOf(commands []dibs.Command, err error) map[int]*dibs.Error {
	var refused *dibs.Error
	if !errors.As(err, &refused) {
		return nil
	}
	if len(commands) == 1 { // its failures are parts of the command
		return map[int]*dibs.Error{0: refused}
	}
	refusals := make(map[int]*dibs.Error)
	for _, f := range refused.Failures {
		refusals[f.Index] = f.Err
	}
	return refusals
}

func (s *Server) isWrongToken(c dibs.Command, refusal *dibs.Error) bool {
	if wrong := s.typeOf(c).wrong; wrong != nil {
		return wrong(refusal)
	}
	return isLost(refusal)
}

func isLost(refusal *dibs.Error) bool { return refusal.Code == dibs.CodeLost }
