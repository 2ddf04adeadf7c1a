package dibs

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
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
	End       SpentEnd // how the hold ended
	Until     Instant  // when the row may drop it
}

// SpentEnd says how the hold of a [SpentToken] ended.
type SpentEnd byte

// The ends of a hold.
const (
	SpentConfirmed SpentEnd = 'c'
	SpentReleased  SpentEnd = 'r'
	SpentExpired   SpentEnd = 'e'
)

// spentSize is the length of one encoded token.
const spentSize = len(SpentToken{}.Token) + len(SpentToken{}.Principal) + 8 + 1 + 8

// EncodeSpent returns tokens in the form that engines store; nil for none.
func EncodeSpent(tokens []SpentToken) []byte {
	if len(tokens) == 0 {
		return nil
	}
	data := make([]byte, 0, len(tokens)*spentSize)
	for i := range tokens {
		t := &tokens[i]
		data = append(data, t.Token[:]...)
		data = append(data, t.Principal[:]...)
		data = binary.BigEndian.AppendUint64(data, t.Epoch)
		data = append(data, byte(t.End))
		data = binary.BigEndian.AppendUint64(data, uint64(t.Until))
	}
	return data
}

// DecodeSpent is the inverse of EncodeSpent.
func DecodeSpent(data []byte) ([]SpentToken, error) {
	if len(data)%spentSize != 0 {
		return nil, fmt.Errorf("dibs: the spent tokens of a name are damaged: %d bytes, not a multiple of %d", len(data), spentSize)
	}
	var tokens []SpentToken
	for ; len(data) > 0; data = data[spentSize:] {
		tokens = append(tokens, SpentToken{
			Token: [16]byte(data), Principal: [8]byte(data[16:]), Epoch: binary.BigEndian.Uint64(data[24:]),
			End: SpentEnd(data[32]), Until: Instant(binary.BigEndian.Uint64(data[33:])),
		})
	}
	return tokens, nil
}
