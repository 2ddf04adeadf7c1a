package nametest

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf16"
)

// needle is one form of a value to search for.
type needle struct {
	what  string
	bytes []byte
}

// textNeedles are the possible forms of a text, alone or in a longer one.
func textNeedles(what, text string) []needle {
	var list []needle
	for _, v := range []struct{ how, text string }{
		{"as written", text}, {"in lower case", strings.ToLower(text)}, {"in upper case", strings.ToUpper(text)},
	} {
		name := what + " " + v.how
		var escaped []byte
		for _, b := range []byte(v.text) {
			escaped = fmt.Appendf(escaped, "%%%02X", b)
		}
		percent := string(escaped)
		list = append(list,
			needle{name, []byte(v.text)},
			needle{name + ", percent-encoded", []byte(percent)},
			needle{name + ", percent-encoded in lower case", []byte(strings.ToLower(percent))},
			needle{name + ", UTF-16LE", utf16Bytes(v.text, binary.LittleEndian)},
			needle{name + ", UTF-16BE", utf16Bytes(v.text, binary.BigEndian)},
		)
		list = append(list, encoded(name, []byte(v.text))...)
	}
	return list
}

func utf16Bytes(text string, order binary.AppendByteOrder) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return b
}

// encoded are the text encodings of bytes, at any offset in a longer byte sequence.
func encoded(what string, b []byte) []needle {
	digits := hex.EncodeToString(b)
	list := []needle{{what + ", hex", []byte(digits)}, {what + ", HEX", []byte(strings.ToUpper(digits))}}
	for offset := range 3 {
		for name, encoding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
			name = fmt.Sprintf("%s, %s at %d", what, name, offset)
			list = append(list, needle{name, within(b, offset, 6, encoding.EncodeToString)})
		}
	}
	for offset := range 5 {
		text := within(b, offset, 5, base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString)
		name := fmt.Sprintf("%s, base32 at %d", what, offset)
		list = append(list, needle{name, text}, needle{name + " in lower case", bytes.ToLower(text)})
	}
	return list
}

// within encodes b as if other bytes were before and after it, and leaves out the
// characters that depend on those.
func within(b []byte, before, bits int, encode func([]byte) string) []byte {
	text := encode(append(make([]byte, before), b...))
	first := (before*8 + bits - 1) / bits
	return []byte(text[first : (before+len(b))*8/bits])
}

// digests are all hashes of the standard library that need no key. An ID is the first 16
// bytes of one, so only these are searched.
var digests = map[string]func(text []byte) []byte{
	"MD5":         func(b []byte) []byte { s := md5.Sum(b); return s[:] },
	"SHA-1":       func(b []byte) []byte { s := sha1.Sum(b); return s[:16] },
	"SHA-224":     func(b []byte) []byte { s := sha256.Sum224(b); return s[:16] },
	"SHA-256":     func(b []byte) []byte { s := sha256.Sum256(b); return s[:16] },
	"SHA-384":     func(b []byte) []byte { s := sha512.Sum384(b); return s[:16] },
	"SHA-512":     func(b []byte) []byte { s := sha512.Sum512(b); return s[:16] },
	"SHA-512/224": func(b []byte) []byte { s := sha512.Sum512_224(b); return s[:16] },
	"SHA-512/256": func(b []byte) []byte { s := sha512.Sum512_256(b); return s[:16] },
	"SHA3-224":    func(b []byte) []byte { s := sha3.Sum224(b); return s[:16] },
	"SHA3-256":    func(b []byte) []byte { s := sha3.Sum256(b); return s[:16] },
	"SHA3-384":    func(b []byte) []byte { s := sha3.Sum384(b); return s[:16] },
	"SHA3-512":    func(b []byte) []byte { s := sha3.Sum512(b); return s[:16] },
}

// hashNeedles are the possible forms of a hash of a text.
func hashNeedles(text string) []needle {
	var list []needle
	for name, digest := range digests {
		what := fmt.Sprintf("%s of %q", name, text)
		sum := digest([]byte(text))
		digits := hex.EncodeToString(sum)
		uuid := strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
		list = append(list, needle{what, sum}, needle{what + ", uuid", []byte(uuid)})
		list = append(list, encoded(what, sum)...)
	}
	return list
}
