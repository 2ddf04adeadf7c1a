package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/calldibs/dibs"
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

// A key is stored as two documents, which are written and deleted together. The first is
// found by the prefix of the secret, the second by the name, which keeps names unique.
const (
	kindKey  dibs.Kind = "apikey"
	kindName dibs.Kind = "apikeyname"
)

func keyRef(prefix string) dibs.Ref { return ref(kindKey, prefix) }
func nameRef(name string) dibs.Ref  { return ref(kindName, name) }

func ref(kind dibs.Kind, text string) dibs.Ref {
	sum := sha256.Sum256([]byte(string(kind) + "\x00" + text))
	return dibs.Ref{Kind: kind, ID: dibs.ID(sum[:16])}
}

// storedKey is the content of a key's document.
type storedKey struct {
	Prefix    string         `json:"prefix"`
	Digest    string         `json:"digest"` // of the whole secret, in hex
	Grants    []access.Grant `json:"grants"`
	CreatedAt dibs.Instant   `json:"createdAt"`
	ExpiresAt dibs.Instant   `json:"expiresAt,omitzero"`
}

// documents returns the two documents of a new key.
func (k Key) documents(sum digest) (key, name *dibs.Document, err error) {
	data, err := json.Marshal(storedKey{
		Prefix: k.Prefix, Digest: hex.EncodeToString(sum[:]), Grants: k.Grants,
		CreatedAt: dibs.InstantOf(k.CreatedAt), ExpiresAt: dibs.InstantOf(k.ExpiresAt),
	})
	if err != nil {
		return nil, nil, err
	}
	key = &dibs.Document{Kind: kindKey, ID: keyRef(k.Prefix).ID, Rev: 1, Label: k.Name, Data: data}
	name = &dibs.Document{Kind: kindName, ID: nameRef(k.Name).ID, Rev: 1, Label: k.Name, Data: []byte(k.Prefix)}
	return key, name, nil
}

// decodeKey returns the key in a document, and the digest of its secret.
func decodeKey(doc *dibs.Document) (_ Key, sum digest, err error) {
	var stored storedKey
	var hash []byte
	if err = json.Unmarshal(doc.Data, &stored); err == nil {
		hash, err = hex.DecodeString(stored.Digest)
	}
	if err == nil && len(hash) != len(sum) {
		err = fmt.Errorf("the digest has %d bytes", len(hash))
	}
	if err != nil {
		return Key{}, digest{}, fmt.Errorf("the key %q cannot be decoded; revoke it and create a new one: %w", doc.Label, err)
	}
	return Key{
		Name: doc.Label, Prefix: stored.Prefix, Grants: stored.Grants,
		CreatedAt: stored.CreatedAt.Time(), ExpiresAt: stored.ExpiresAt.Time(),
	}, digest(hash), nil
}
