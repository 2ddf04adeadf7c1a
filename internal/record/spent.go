package record

import (
	"encoding/binary"
	"fmt"

	"github.com/calldibs/dibs"
)

// spentSize is the length of one encoded token.
const spentSize = len(dibs.SpentToken{}.Token) + len(dibs.SpentToken{}.Principal) + 8 + 1 + 8

// EncodeSpent returns tokens in the form that engines store; nil for none.
func EncodeSpent(tokens []dibs.SpentToken) []byte {
	if len(tokens) == 0 {
		return nil
	}
	data := make([]byte, 0, len(tokens)*spentSize)
	for i := range tokens {
		t := &tokens[i]
		data = append(data, t.Token[:]...)
		data = append(data, t.Principal[:]...)
		data = binary.BigEndian.AppendUint64(data, t.Epoch)
		data = append(data, t.End)
		data = binary.BigEndian.AppendUint64(data, uint64(t.Until))
	}
	return data
}

// DecodeSpent is the inverse of EncodeSpent.
func DecodeSpent(data []byte) ([]dibs.SpentToken, error) {
	if len(data)%spentSize != 0 {
		return nil, fmt.Errorf("the spent tokens of a name are damaged: %d bytes, not a multiple of %d", len(data), spentSize)
	}
	var tokens []dibs.SpentToken
	for ; len(data) > 0; data = data[spentSize:] {
		tokens = append(tokens, dibs.SpentToken{
			Token: [16]byte(data), Principal: [8]byte(data[16:]), Epoch: binary.BigEndian.Uint64(data[24:]),
			End: data[32], Until: dibs.Instant(binary.BigEndian.Uint64(data[33:])),
		})
	}
	return tokens, nil
}
