package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
)

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
