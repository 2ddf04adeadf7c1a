package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/calldibs/dibs/internal/access"
)

// Key is an API key without its secret.
type Key struct {
	// Name is the principal of the key: 1 to 64 of a-z, 0-9, dot, hyphen
	// and underscore. Names are unique.
	Name string
	// Prefix is the part of the secret that identifies the key in logs.
	Prefix string
	// Grants are the rights of the key; at least one.
	Grants []access.Grant
	// CreatedAt is the time of creation, by the engine's clock.
	CreatedAt time.Time
	// ExpiresAt is when the key expires. Zero means never.
	ExpiresAt time.Time
}

// Caller returns the caller of a request with this key.
func (k Key) Caller() access.Caller { return access.Caller{Name: k.Name, Grants: k.Grants} }

const (
	maxKeyName   = 64
	keyNameChars = "abcdefghijklmnopqrstuvwxyz0123456789.-_"
)

// Validate checks the name and the grants of a new key.
func (k Key) Validate() error {
	if k.Name == "" || len(k.Name) > maxKeyName || !consistsOf(k.Name, keyNameChars) {
		return fmt.Errorf("%q is not a valid key name: use 1 to %d of a-z, 0-9, dot, hyphen and underscore", k.Name, maxKeyName)
	}
	if len(k.Grants) == 0 {
		return errors.New("a key needs at least one grant")
	}
	for _, g := range k.Grants {
		if err := g.Validate(); err != nil {
			return err
		}
	}
	return nil
}

func consistsOf(text, chars string) bool { return strings.Trim(text, chars) == "" }

// A secret is "dibs_", the prefix, "_" and the rest: lower-case letters and digits, so
// that a double click selects all of it and scanners for leaked secrets find it.
const (
	secretStart  = "dibs_"
	prefixLength = 8
	restLength   = 44                                 // 220 bits
	secretChars  = "abcdefghijklmnopqrstuvwxyz234567" // those of rand.Text, in lower case
)

// digest is the SHA-256 of a secret. The store contains only the digest, so reading the store
// does not reveal the secret. Unlike a password, a long random secret needs no slow hash.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

func newSecret() (secret, prefix string) {
	text := strings.ToLower(rand.Text() + rand.Text())
	prefix = text[:prefixLength]
	return secretStart + prefix + "_" + text[prefixLength:prefixLength+restLength], prefix
}

// prefixOf returns the prefix of a secret. Ok is false if the secret is malformed.
func prefixOf(secret string) (prefix string, ok bool) {
	rest, found := strings.CutPrefix(secret, secretStart)
	if !found || len(rest) != prefixLength+len("_")+restLength || rest[prefixLength] != '_' {
		return "", false
	}
	prefix = rest[:prefixLength]
	return prefix, consistsOf(prefix, secretChars) && consistsOf(rest[prefixLength+1:], secretChars)
}
