package record_test

import (
	"bytes"
	"testing"

	"github.com/calldibs/dibs/internal/record"
)

func FuzzSpent(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(bytes.Repeat([]byte{1}, 41))
	f.Add(bytes.Repeat([]byte{0xff}, 82))
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tokens, err := record.DecodeSpent(data)
		if err != nil {
			return
		}
		if again := record.EncodeSpent(tokens); !bytes.Equal(again, data) {
			t.Errorf("%x becomes %x", data, again)
		}
	})
}
