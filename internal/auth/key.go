package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	// CreatedBy is the principal that created the key. Empty means that a command did, on the
	// store itself, or an anonymous caller.
	CreatedBy string
	// ExpiresAt is when the key expires. Zero means never.
	ExpiresAt time.Time
	// DeclaredIn is the place in the configuration that declares the key, such as
	// "dibs.toml:12". Empty means that the key is in the store.
	DeclaredIn string
}

// Caller returns the caller of a request with this key.
func (k Key) Caller() access.Caller {
	return access.Caller{Name: k.Name, Grants: k.Grants, Until: k.ExpiresAt}
}

const (
	maxKeyName   = 64
	maxGrants    = 100
	keyNameChars = "abcdefghijklmnopqrstuvwxyz0123456789.-_"
)

// InvalidKeyError says what is wrong with a new key.
type InvalidKeyError struct {
	Field   string // "name", "grants" or "expiresAt"
	Problem string
}

// Error returns the problem.
func (e *InvalidKeyError) Error() string { return e.Problem }

// Validate checks the name and the grants of a new key. It returns an [*InvalidKeyError].
func (k Key) Validate() error {
	if k.Name == "" || len(k.Name) > maxKeyName || !consistsOf(k.Name, keyNameChars) {
		return &InvalidKeyError{"name", fmt.Sprintf("%.80q is not a valid key name: use 1 to %d of a-z, 0-9, dot, hyphen and underscore", k.Name, maxKeyName)}
	}
	if len(k.Grants) == 0 {
		return &InvalidKeyError{"grants", "a key needs at least one grant"}
	}
	if len(k.Grants) > maxGrants {
		return &InvalidKeyError{"grants", fmt.Sprintf("a key has at most %d grants", maxGrants)}
	}
	for _, g := range k.Grants {
		if err := g.Validate(); err != nil {
			return &InvalidKeyError{"grants", err.Error()}
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

// Digest is the SHA-256 of a secret. The store contains only the digest, so reading the store
// does not reveal the secret. Unlike a password, a long random secret needs no slow hash.
type Digest [sha256.Size]byte

func digestOf(secret string) Digest { return sha256.Sum256([]byte(secret)) }

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
	CreatedBy string         `json:"createdBy,omitempty"`
	ExpiresAt dibs.Instant   `json:"expiresAt,omitzero"`
}

// documents returns the two documents of a new key.
func (k Key) documents(sum Digest) (key, name *dibs.Document, err error) {
	data, err := json.Marshal(storedKey{
		Prefix: k.Prefix, Digest: hex.EncodeToString(sum[:]), Grants: k.Grants,
		CreatedAt: dibs.InstantOf(k.CreatedAt), CreatedBy: k.CreatedBy, ExpiresAt: dibs.InstantOf(k.ExpiresAt),
	})
	if err != nil {
		return nil, nil, err
	}
	key = &dibs.Document{Kind: kindKey, ID: keyRef(k.Prefix).ID, Rev: 1, Label: k.Name, Data: data}
	name = &dibs.Document{Kind: kindName, ID: nameRef(k.Name).ID, Rev: 1, Label: k.Name, Data: []byte(k.Prefix)}
	return key, name, nil
}

// decodeKey returns the key in a document, and the digest of its secret.
func decodeKey(doc *dibs.Document) (_ Key, sum Digest, err error) {
	var stored storedKey
	var hash []byte
	if err = json.Unmarshal(doc.Data, &stored); err == nil {
		hash, err = hex.DecodeString(stored.Digest)
	}
	if err == nil && len(hash) != len(sum) {
		err = fmt.Errorf("the digest has %d bytes", len(hash))
	}
	if err != nil {
		return Key{}, Digest{}, fmt.Errorf("the key %q cannot be decoded; revoke it and create a new one: %w", doc.Label, err)
	}
	return Key{
		Name: doc.Label, Prefix: stored.Prefix, Grants: stored.Grants,
		CreatedAt: stored.CreatedAt.Time(), CreatedBy: stored.CreatedBy, ExpiresAt: stored.ExpiresAt.Time(),
	}, Digest(hash), nil
}
