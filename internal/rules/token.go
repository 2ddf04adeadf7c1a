package rules

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"

	"github.com/calldibs/dibs"
)

const (
	minTokenLength = 16
	maxTokenLength = 128
)

// hashToken checks a token's form and returns its hash. The error does not contain the token.
func hashToken(token string) (hash dibs.TokenHash, _ *dibs.Error) {
	if token == "" {
		return hash, refuse(dibs.CodeInvalidToken, "a token is required: use the one that Reserve returned")
	}
	if len(token) < minTokenLength || len(token) > maxTokenLength {
		return hash, refuse(dibs.CodeInvalidToken, "a token must have %d to %d characters, this one has %d",
			minTokenLength, maxTokenLength, len(token))
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return hash, refuse(dibs.CodeInvalidToken, "a token must be visible ASCII, character %d of this one is not", i+1)
		}
	}
	return sha256.Sum256([]byte(token)), nil
}

// maxSpent is how many spent tokens a name remembers, the last ones. It bounds what a name stores
// if it is held and released again and again.
const maxSpent = 16

// The ends of a hold, as a [dibs.SpentToken] has them.
const (
	spentConfirmed byte = 'c'
	spentReleased  byte = 'r'
	spentExpired   byte = 'e'
)

// checkSpent refuses if the token had a hold on the name before the last one, and that was the
// principal's, or the principal may act for others.
func (r *reservation) checkSpent(v *view, n *nameState) *dibs.Error {
	for i := range n.Spent {
		spent := &n.Spent[i]
		if subtle.ConstantTimeCompare(spent.Token[:], r.token.hash[:len(spent.Token)]) == 0 ||
			(spent.Principal != spentBy(r.token.hash, r.principal.Name) && !r.principal.HasIn(r.namespace, dibs.ActForOthers)) {
			continue
		}
		if spent.Until.Reached(v.now) {
			v.narrow(spent.Until, 0)
			continue
		}
		switch spent.End {
		case spentConfirmed:
			return r.refuse(dibs.CodeAlreadyConfirmed, "an earlier hold of this token on %s was already confirmed", r.key())
		case spentReleased:
			return r.refuse(dibs.CodeAlreadyReleased, "an earlier hold of this token on %s was already released", r.key())
		default:
			return r.refuse(dibs.CodeAlreadyExpired, "an earlier hold of this token on %s has expired", r.key())
		}
	}
	return nil
}

// lastToken returns the token of the name's last hold as one that is spent at an instant, or none
// if that hold had no token.
func (n *nameState) lastToken(at dibs.Instant) []dibs.SpentToken {
	if n.Token.IsZero() {
		return nil
	}
	end := spentExpired
	switch {
	case n.ConfirmedAt != 0:
		end = spentConfirmed
	case n.Status == dibs.StatusReleased:
		end = spentReleased
	}
	return []dibs.SpentToken{{
		Token: [16]byte(n.Token[:]), Principal: spentBy(n.Token, n.Principal),
		Epoch: n.Epoch, End: end, Until: at.Add(n.Terms.HoldHistory),
	}}
}

// spentBy returns a mark of the principal, which reveals nothing without the token.
func spentBy(token dibs.TokenHash, principal string) [8]byte {
	sum := sha256.Sum256(append(token[:], principal...))
	return [8]byte(sum[:])
}

// stillSpent returns the last of these tokens that have to be remembered now.
func (v *view) stillSpent(tokens ...[]dibs.SpentToken) []dibs.SpentToken {
	var kept []dibs.SpentToken
	for _, t := range slices.Concat(tokens...) {
		if t.Until.Reached(v.now) {
			v.narrow(t.Until, 0)
		} else {
			kept = append(kept, t)
		}
	}
	return kept[max(0, len(kept)-maxSpent):]
}

// withoutEpochs returns tokens for the row to which their name was moved: their epochs are those
// of the former row.
func withoutEpochs(tokens []dibs.SpentToken) []dibs.SpentToken {
	tokens = slices.Clone(tokens)
	for i := range tokens {
		tokens[i].Epoch = 0
	}
	return tokens
}
