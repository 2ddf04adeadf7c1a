package dibs

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

const (
	idPrefix = "res_"
	idLength = 26 // 128 bits in base32
)

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ID identifies a record. The ID of a name is the first 128 bits of the SHA-256 of its key, so
// the same key always has the same ID; its text is the reservation id. It is public: the token,
// not the ID, proves a hold. No record has the zero ID.
type ID [16]byte

// NameID returns the ID of the name with this namespace and canonical form.
func NameID(namespace, canonical string) ID { return hashID(namespace + ":" + canonical) }

// EntityID returns the ID of an entity's record within its scope.
func EntityID(scope string, entity Entity) ID {
	// No part can contain a NUL (see [Entity]), so two entities never share an input.
	return hashID(scope + "\x00" + entity.Type + "\x00" + entity.ID)
}

func hashID(s string) ID {
	sum := sha256.Sum256([]byte(s))
	return ID(sum[:16])
}

// ParseID reads a reservation id as [ID.String] writes it.
func ParseID(s string) (ID, error) {
	var id ID
	code, ok := strings.CutPrefix(s, idPrefix)
	if !ok || len(code) != idLength {
		return ID{}, malformedID(s)
	}
	n, err := idEncoding.Decode(id[:], []byte(code))
	// 26 characters have two bits more than the ID. They must be zero: one text per ID.
	if err != nil || n != len(id) || id.String() != s {
		return ID{}, malformedID(s)
	}
	return id, nil
}

func malformedID(s string) *Error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf(
		"%.80q is not a reservation id, which is %q and %d characters of lower-case base32", s, idPrefix, idLength)}
}

// IsZero reports whether this is the zero ID.
func (id ID) IsZero() bool { return id == ID{} }

// String returns the reservation id: "res_" and 26 characters of base32; empty for the zero ID.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	return idPrefix + idEncoding.EncodeToString(id[:])
}

// MarshalText writes the reservation id.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads a reservation id; an empty text is the zero ID.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
