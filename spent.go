package dibs

import (
	"encoding/binary"
	"fmt"
)

// SpentToken is a token whose hold on a name is over and was followed by another. A name
// remembers it, so that a late duplicate of the request that it came with takes nothing.
type SpentToken struct {
	Token     [16]byte // the beginning of its [TokenHash]
	Principal [8]byte  // the beginning of a hash of the token and the hold's principal
	Epoch     uint64   // in which the hold ended; 0: in a row that the name was moved from
	End       SpentEnd // how the hold ended
	Until     Instant  // when it may be forgotten
}

// SpentEnd says how the hold of a [SpentToken] ended.
type SpentEnd byte

// The ends of a hold.
const (
	SpentConfirmed SpentEnd = 'c'
	SpentReleased  SpentEnd = 'r'
	SpentExpired   SpentEnd = 'e'
)

// spentSize is how many bytes EncodeSpent makes of one.
const spentSize = len(SpentToken{}.Token) + len(SpentToken{}.Principal) + 8 + 1 + 8

// EncodeSpent returns tokens as engines keep them; nothing for none.
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

// DecodeSpent undoes EncodeSpent.
func DecodeSpent(data []byte) ([]SpentToken, error) {
	if len(data)%spentSize != 0 {
		return nil, fmt.Errorf("dibs: the spent tokens of a name have %d bytes, no multiple of %d", len(data), spentSize)
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
