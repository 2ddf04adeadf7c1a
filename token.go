package dibs

import (
	"crypto/rand"
	"crypto/sha256"
)

// TokenHash is the SHA-256 of a token. The token itself is shown to its holder
// once and never stored. The zero TokenHash belongs to no token.
type TokenHash [sha256.Size]byte

// NewToken returns a fresh random token of 128 bits or more. A caller that
// chooses its token before it reserves can ask again when an answer was lost.
func NewToken() string { return rand.Text() }

// IsZero reports whether there is no token.
func (h TokenHash) IsZero() bool { return h == TokenHash{} }
