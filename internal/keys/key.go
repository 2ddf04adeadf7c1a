// Package keys keeps the keys by which callers of a server are known.
//
// A key's secret is shown once, when it is made. What is stored is its SHA-256: whoever
// reads the store cannot act for anybody. That is enough for secrets which are random
// and long; it would not be for passwords.
package keys

import (
	"errors"
	"fmt"
	"time"

	"github.com/calldibs/dibs/internal/access"
)

// The errors of a Ring, for [errors.Is].
var (
	// ErrUnknown is returned for a secret that is none, of no key, or of one that is over
	// or revoked. Nobody learns which.
	ErrUnknown = errors.New("keys: the key is not known, or no longer valid")
	// ErrNotFound is returned where no key has the name.
	ErrNotFound = errors.New("keys: no key has this name")
	// ErrNameTaken is returned where a key has the name already.
	ErrNameTaken = errors.New("keys: a key of this name is there already: choose another name, or revoke that one")
)

// Key is what is known of a key. The secret is not.
type Key struct {
	// Name is the principal that the key stands for: 1 to 64 of a-z, 0-9, dot, hyphen
	// and underscore. No two keys share one.
	Name string
	// Prefix is the part of the secret that tells keys apart in logs.
	Prefix string
	// Grants are what the key allows; at least one.
	Grants []access.Grant
	// CreatedAt is when the key was made, by the engine's clock.
	CreatedAt time.Time
	// ExpiresAt is when it is over. Zero means never.
	ExpiresAt time.Time
}

// Caller returns who a request with this key comes from.
func (k Key) Caller() access.Caller { return access.Caller{Name: k.Name, Grants: k.Grants} }

const maxName = 64

// Validate checks what a new key is made from: its name and its grants.
func (k Key) Validate() error {
	if !isName(k.Name) {
		return fmt.Errorf("keys: %q is no name for a key: it is 1 to %d of a-z, 0-9, dot, hyphen and underscore", k.Name, maxName)
	}
	if len(k.Grants) == 0 {
		return errors.New("keys: a key without grants could do nothing: grant something")
	}
	for _, g := range k.Grants {
		if err := g.Validate(); err != nil {
			return fmt.Errorf("keys: %w", err)
		}
	}
	return nil
}

func isName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}
