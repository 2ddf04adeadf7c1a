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
	"math/rand/v2"
	"strings"
	"unicode/utf16"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
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

// finder searches for many needles at once.
type finder struct {
	// known rules out most positions fast: no needle begins with these four bytes.
	known   [1 << 20 / 64]uint64
	needles map[uint32][]needle // by their first four bytes
}

func newFinder(needles []needle) *finder {
	f := &finder{needles: make(map[uint32][]needle)}
	for _, n := range needles {
		if len(n.bytes) < 8 {
			panic("needle too short, it would be found by chance: " + n.what)
		}
		head := binary.LittleEndian.Uint32(n.bytes)
		f.needles[head] = append(f.needles[head], n)
		slot := slotOf(head)
		f.known[slot/64] |= 1 << (slot % 64)
	}
	return f
}

func slotOf(head uint32) uint32 { return head * 2654435761 >> 12 }

// find returns which needles are in hay.
func (f *finder) find(hay []byte) map[string]bool {
	found := make(map[string]bool)
	for i := 0; i+4 <= len(hay); i++ {
		head := binary.LittleEndian.Uint32(hay[i:])
		slot := slotOf(head)
		if f.known[slot/64]>>(slot%64)&1 == 0 {
			continue
		}
		for _, n := range f.needles[head] {
			if bytes.HasPrefix(hay[i:], n.bytes) {
				found[n.what] = true
			}
		}
	}
	return found
}

// secret is a set of unique values: all contain one random text.
type secret struct {
	core string

	main  string // the value whose life is run
	twin  string // looks like it
	other string
	brief string // is never confirmed
	word  string // is reserved
	wrong string // is not valid
}

func newSecret(random *rand.Rand) secret {
	const letters = "abcdefghijkmnpqrtuvwxyz" // none that looks like another one
	core := make([]byte, 14)
	for i := range core {
		core[i] = letters[random.IntN(len(letters))]
		if i%2 == 0 {
			core[i] -= 'a' - 'A'
		}
	}
	s := secret{core: string(core)}
	email := func(prefix string) string { return prefix + s.core + "@Example.com" }
	s.main, s.twin, s.other = email("Lo."), email("L0."), email("other.")
	s.brief, s.word, s.wrong = email("brief."), email("root."), email("wrong!")
	return s
}

// needles are all possible forms of the values.
func (s secret) needles(namespaces ...string) []needle {
	list := textNeedles("the text", s.core)
	for _, value := range []string{s.main, s.twin, s.other, s.brief} {
		canonical := strings.ToLower(value)
		skeleton := coretest.Digits{}.Skeleton(canonical)
		texts := map[string]bool{value: true, canonical: true, skeleton: true}
		for _, namespace := range namespaces {
			texts[namespace+":"+value] = true
			for _, text := range []string{canonical, skeleton} {
				texts[namespace+":"+text] = true
				// The IDs of documents, and keyed hashes.
				for _, kind := range []dibs.Kind{dibs.KindSkeleton, dibs.KindHash} {
					texts[fmt.Sprintf("%s\x00%s:%s", kind, namespace, text)] = true
					texts[fmt.Sprintf("%s\x00%s\x00%s", kind, namespace, text)] = true
				}
			}
		}
		for text := range texts {
			list = append(list, hashNeedles(text)...)
		}
	}
	return list
}

// id is the needle of the ID of a name that is not blind.
func (s secret) id(namespace string) string {
	return fmt.Sprintf("SHA-256 of %q", namespace+":"+strings.ToLower(s.main))
}
