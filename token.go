package dibs

import (
	"crypto/rand"
	"crypto/sha256"
)

// TokenHash is the SHA-256 of a token. The token itself is never stored. The zero TokenHash
// means no token.
type TokenHash [sha256.Size]byte

// NewToken returns a random token of at least 128 bits. A caller that chooses its token
// before it reserves can retry when an answer was lost.
func NewToken() string { return rand.Text() }

// IsZero reports whether there is no token.
func (h TokenHash) IsZero() bool { return h == TokenHash{} }
