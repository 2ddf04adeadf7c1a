package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
)

// A key is two documents, which come and go together: one is found by the prefix of the
// secret, the other by the name. The second keeps names unique.
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

// content is what a key's document holds.
type content struct {
	Prefix    string         `json:"prefix"`
	Digest    string         `json:"digest"` // of the whole secret, in hex
	Grants    []access.Grant `json:"grants"`
	CreatedAt dibs.Instant   `json:"createdAt"`
	ExpiresAt dibs.Instant   `json:"expiresAt,omitzero"`
}

// documents returns the two documents of a new key.
func (k Key) documents(sum digest) (key, name *dibs.Document, err error) {
	data, err := json.Marshal(content{
		Prefix: k.Prefix, Digest: hex.EncodeToString(sum[:]), Grants: k.Grants,
		CreatedAt: dibs.InstantOf(k.CreatedAt), ExpiresAt: dibs.InstantOf(k.ExpiresAt),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("keys: %w", err)
	}
	key = &dibs.Document{Kind: kindKey, ID: keyRef(k.Prefix).ID, Rev: 1, Label: k.Name, Data: data}
	name = &dibs.Document{Kind: kindName, ID: nameRef(k.Name).ID, Rev: 1, Label: k.Name, Data: []byte(k.Prefix)}
	return key, name, nil
}

// read returns the key in a document, and the digest of its secret.
func read(doc *dibs.Document) (Key, digest, error) {
	var c content
	err := json.Unmarshal(doc.Data, &c)
	var sum digest
	if err == nil {
		var n int
		if n, err = hex.Decode(sum[:], []byte(c.Digest)); err == nil && n != len(sum) {
			err = fmt.Errorf("the digest has %d bytes", n)
		}
	}
	if err != nil {
		return Key{}, digest{}, fmt.Errorf("keys: the key %q cannot be read, revoke it and make a new one: %w", doc.Label, err)
	}
	return Key{
		Name: doc.Label, Prefix: c.Prefix, Grants: c.Grants,
		CreatedAt: c.CreatedAt.Time(), ExpiresAt: c.ExpiresAt.Time(),
	}, sum, nil
}
