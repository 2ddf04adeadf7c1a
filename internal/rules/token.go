package rules

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"

	"github.com/calldibs/dibs"
)

const (
	minTokenLength = 16
	maxTokenLength = 128
)

// sameToken compares in constant time, so that nobody can learn a hash by how
// long a refusal takes. No token matches the absence of one.
func sameToken(h, other dibs.TokenHash) bool {
	return subtle.ConstantTimeCompare(h[:], other[:]) == 1 && !h.IsZero()
}

// hashToken checks a token's form and returns its hash. The token never
// becomes part of the error.
func hashToken(token string) (dibs.TokenHash, *dibs.Error) {
	if token == "" {
		return dibs.TokenHash{}, invalidToken("a token is required: use the one that Reserve returned")
	}
	if len(token) < minTokenLength || len(token) > maxTokenLength {
		return dibs.TokenHash{}, invalidToken(fmt.Sprintf("a token must have %d to %d characters, this one has %d",
			minTokenLength, maxTokenLength, len(token)))
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return dibs.TokenHash{}, invalidToken(fmt.Sprintf("a token must be visible ASCII, character %d of this one is not", i+1))
		}
	}
	return sha256.Sum256([]byte(token)), nil
}

func invalidToken(message string) *dibs.Error {
	return &dibs.Error{Code: dibs.CodeInvalidToken, Message: message}
}
