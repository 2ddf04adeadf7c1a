package rules

import (
	"crypto/sha256"
	"crypto/subtle"

	"github.com/calldibs/dibs"
)

const (
	minTokenLength = 16
	maxTokenLength = 128
)

// hashToken checks a token's form and returns its hash. The error does not contain the token.
func hashToken(token string) (dibs.TokenHash, *dibs.Error) {
	var none dibs.TokenHash
	if token == "" {
		return none, refuse(dibs.CodeInvalidToken, "a token is required: use the one that Reserve returned")
	}
	if len(token) < minTokenLength || len(token) > maxTokenLength {
		return none, refuse(dibs.CodeInvalidToken, "a token must have %d to %d characters, this one has %d",
			minTokenLength, maxTokenLength, len(token))
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return none, refuse(dibs.CodeInvalidToken, "a token must be visible ASCII, character %d of this one is not", i+1)
		}
	}
	return sha256.Sum256([]byte(token)), nil
}

// sameToken compares in constant time, so that the time of a refusal does not tell anything of a
// hash. A zero hash matches nothing.
func sameToken(h, other dibs.TokenHash) bool {
	return subtle.ConstantTimeCompare(h[:], other[:]) == 1 && !h.IsZero()
}
