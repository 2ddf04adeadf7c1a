package dibs

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
)

const (
	minTokenLength = 16
	maxTokenLength = 128
)

// TokenHash is the SHA-256 of a token. The token itself is shown to its holder
// once and never stored. The zero TokenHash belongs to no token.
type TokenHash [sha256.Size]byte

// NewToken returns a fresh random token of 128 bits or more. A caller that
// chooses its token before it reserves can ask again when an answer was lost.
func NewToken() string { return rand.Text() }

// IsZero reports whether there is no token.
func (h TokenHash) IsZero() bool { return h == TokenHash{} }

// matches compares in constant time, so that nobody can learn a hash by how
// long a refusal takes. No token matches the absence of one.
func (h TokenHash) matches(other TokenHash) bool {
	return subtle.ConstantTimeCompare(h[:], other[:]) == 1 && !h.IsZero()
}

// hashToken checks a token's form and returns its hash. The token never
// becomes part of the error.
func hashToken(token string) (TokenHash, *Error) {
	if token == "" {
		return TokenHash{}, invalidToken("a token is needed: the one that Reserve returned")
	}
	if len(token) < minTokenLength || len(token) > maxTokenLength {
		return TokenHash{}, invalidToken(fmt.Sprintf("a token has %d to %d characters, this one has %d",
			minTokenLength, maxTokenLength, len(token)))
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return TokenHash{}, invalidToken(fmt.Sprintf("a token is visible ASCII alone, character %d of this one is not", i+1))
		}
	}
	return sha256.Sum256([]byte(token)), nil
}

func invalidToken(message string) *Error {
	return &Error{Code: CodeInvalidToken, Message: message}
}
