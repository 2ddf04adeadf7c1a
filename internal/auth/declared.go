package auth

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// ErrKeyDeclared is returned if a key of the configuration is to be revoked.
var ErrKeyDeclared = errors.New("this key is declared in the server's configuration: remove it there, and reload or restart the server")

// Declared is a key of the server's configuration. Its Prefix is empty, and so are the facts of
// its creation.
type Declared struct {
	Key
	// Digests are those of its secrets, see [ParseDigest]; two while one replaces the other.
	Digests []Digest
}

// declaredKeys are the keys of a configuration.
type declaredKeys struct {
	list     []Key
	bySecret map[Digest]Key
}

// Declare replaces the keys of the configuration. They work at once, beside those in the store.
func (s *KeyStore) Declare(keys []Declared) {
	declared := &declaredKeys{bySecret: make(map[Digest]Key)}
	for _, key := range keys {
		declared.list = append(declared.list, key.Key)
		for _, sum := range key.Digests {
			declared.bySecret[sum] = key.Key
		}
	}
	s.declared.Store(declared)
}

// declaredAs returns the key of the configuration with a name.
func (s *KeyStore) declaredAs(name string) (Key, bool) {
	for _, key := range s.declared.Load().list {
		if key.Name == name {
			return key, true
		}
	}
	return Key{}, false
}

// digestStart begins the text of a digest, so that another hash can be told from it one day.
const digestStart = "sha256:"

// NewSecret returns a secret for a declared key.
func NewSecret() string {
	secret, _ := newSecret()
	return secret
}

// DigestOf returns the digest of a secret. It refuses a secret that [NewSecret] cannot have made:
// one of the user's own choice could be guessed.
func DigestOf(secret string) (Digest, error) {
	if _, ok := prefixOf(secret); !ok {
		return Digest{}, errors.New(`is not the secret of a key: make one with "dibs keys generate"`)
	}
	return digestOf(secret), nil
}

// ParseDigest parses the text of a digest: "sha256:" and 64 hexadecimal digits.
func ParseDigest(text string) (sum Digest, err error) {
	digits, found := strings.CutPrefix(text, digestStart)
	hash, err := hex.DecodeString(digits)
	if !found || err != nil || len(hash) != len(sum) {
		return sum, fmt.Errorf(`must be "%s" and 64 hexadecimal digits, as "dibs keys generate" prints it`, digestStart)
	}
	return Digest(hash), nil
}

// String formats the digest for [ParseDigest].
func (d Digest) String() string { return digestStart + hex.EncodeToString(d[:]) }
