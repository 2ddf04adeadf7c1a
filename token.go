package dibs

import (
	"crypto/rand"
	"crypto/sha256"
)

// NewToken returns a random token of at least 128 bits. A caller that chooses its token before
// it reserves can retry when an answer was lost.
func NewToken() string { return rand.Text() }

// TokenHash is the SHA-256 of a token, which itself is never stored. Zero means no token.
type TokenHash [sha256.Size]byte

// IsZero reports whether there is no token.
func (h TokenHash) IsZero() bool { return h == TokenHash{} }

// SpentToken is the token of an earlier hold on a name. The name's row keeps it, so that a late
// duplicate of that request gets no hold.
type SpentToken struct {
	Token     [16]byte // the first bytes of its [TokenHash]
	Principal [8]byte  // the first bytes of a hash of the token and the hold's principal
	Epoch     uint64   // of the hold; 0 if it was in a row from which the name was moved
	End       byte     // how the hold ended: the first letter of confirmed, released or expired
	Until     Instant  // when the row may drop it
}
