package rules

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"

	"github.com/calldibs/dibs"
)

// maxSpent is how many spent tokens a name remembers, the last ones. So there is an end to what a
// name can be made to store by holding it and letting go of it again and again.
const maxSpent = 16

// lastToken returns the token of the name's last hold as one that is spent at an instant; none
// where that hold had none.
func (d *nameState) lastToken(at dibs.Instant) []dibs.SpentToken {
	if d.Token.IsZero() {
		return nil
	}
	end := dibs.SpentExpired
	switch {
	case d.ConfirmedAt != 0:
		end = dibs.SpentConfirmed
	case d.Status == dibs.StatusReleased:
		end = dibs.SpentReleased
	}
	return []dibs.SpentToken{{
		Token: [16]byte(d.Token[:]), Principal: spentBy(d.Token, d.Principal),
		Epoch: d.Epoch, End: end, Until: at.Add(d.Terms.HoldHistory),
	}}
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

// ended says how a hold on the name ended that the token had, if it had any: the name's last one,
// or one before that.
func (w *reservation) ended(v *view, d *nameState) *dibs.Error {
	if w.holds(d) {
		return w.over(d)
	}
	return w.spent(v, d)
}

// spent says how the hold ended that the token had before the name's last one.
func (w *reservation) spent(v *view, d *nameState) *dibs.Error {
	for i := range d.Spent {
		t := &d.Spent[i]
		if !spentBelongsTo(t, w.token, w.principal, w.namespace) {
			continue
		}
		if t.Until.Reached(v.now) {
			v.narrow(t.Until, 0)
			continue
		}
		switch t.End {
		case dibs.SpentConfirmed:
			return w.refuse(dibs.CodeAlreadyConfirmed, "an earlier hold of this token on %s was confirmed already", w.key())
		case dibs.SpentReleased:
			return w.refuse(dibs.CodeAlreadyReleased, "an earlier hold of this token on %s was released already", w.key())
		default:
			return w.refuse(dibs.CodeAlreadyExpired, "an earlier hold of this token on %s has run out", w.key())
		}
	}
	return nil
}

// elsewhere returns tokens as the row remembers them to which their name was moved.
func elsewhere(tokens []dibs.SpentToken) []dibs.SpentToken {
	tokens = slices.Clone(tokens)
	for i := range tokens {
		tokens[i].Epoch = 0
	}
	return tokens
}

// spentBy tells a principal's tokens from those of others. Nobody can work out the principal
// from it without the token.
func spentBy(token dibs.TokenHash, principal string) [8]byte {
	sum := sha256.Sum256(append(token[:], principal...))
	return [8]byte(sum[:])
}

// spentBelongsTo reports whether this is the token, and its hold was the principal's, or the
// principal may act for others in the name's namespace.
func spentBelongsTo(t *dibs.SpentToken, token dibs.TokenHash, principal dibs.Principal, namespace string) bool {
	return subtle.ConstantTimeCompare(t.Token[:], token[:len(t.Token)]) == 1 &&
		(t.Principal == spentBy(token, principal.Name) || principal.HasIn(namespace, dibs.ActForOthers))
}
