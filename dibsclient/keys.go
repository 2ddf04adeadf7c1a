package dibsclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/calldibs/dibs/internal/wire"
)

// Grant allows verbs, or groups of verbs such as "read", in namespaces, or patterns of them such
// as "acme.*".
type Grant struct {
	Verbs      []string
	Namespaces []string
}

// Key is an API key of a server.
type Key struct {
	// Name is the principal of its calls.
	Name string
	// Prefix is the part of the secret that identifies it in logs. Empty for a declared key.
	Prefix string
	// Grants are its rights.
	Grants []Grant
	// CreatedAt is zero for a declared key.
	CreatedAt time.Time
	// CreatedBy is the principal that made it. Empty means an anonymous one, or a command on the
	// store itself.
	CreatedBy string
	// ExpiresAt is zero for a key that does not expire.
	ExpiresAt time.Time
	// DeclaredIn is the line of the server's configuration that declares it, such as
	// "dibs.toml:12": it can be revoked only there. Empty for a key in the store.
	DeclaredIn string
	// Secret is what [Options].Key needs. Only Create returns it, once.
	Secret string
}

// Keys makes, lists and revokes the API keys of a server. It is safe for concurrent use.
type Keys struct{ client *client }

// DialKeys returns the API keys of the server at this address, for a caller with the right keys.
// It checks the address and the options and does not connect yet. Close it when it is no longer
// needed.
func DialKeys(address string, options Options) (*Keys, error) {
	c, err := newClient(address, options)
	if err != nil {
		return nil, err
	}
	return &Keys{c}, nil
}

// Close closes idle connections. Later calls return UNAVAILABLE.
func (k *Keys) Close() error { return k.client.Close() }

// Create makes a key from the Name, the Grants and ExpiresAt, and returns it with its Secret. A
// caller can give only rights that it has itself. The error is a [*StatusError] if the server
// refuses, with the code KEY_NAME_TAKEN, INVALID_KEY or FORBIDDEN. After OUTCOME_UNKNOWN the key
// may exist, and its secret is lost: revoke it, and create another.
func (k *Keys) Create(ctx context.Context, key Key) (Key, error) {
	do := call{name: "create key", method: http.MethodPost, path: "/v1/keys", changes: true, body: wire.KeyRequest{
		Name: key.Name, ExpiresAt: wire.FormatTime(key.ExpiresAt),
		Grants: wire.ListOf(key.Grants, func(g Grant) wire.Grant { return wire.Grant(g) }),
	}}
	return fetch(ctx, k.client, do, func(w wire.Key) (Key, error) {
		if w.Secret == "" {
			return Key{}, errors.New("the secret is missing")
		}
		return keyOf(w), nil
	})
}

// List returns the keys that the caller may manage, by name, without their secrets.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	return fetch(ctx, k.client, get("list keys", "/v1/keys", nil), func(w wire.KeyList) ([]Key, error) {
		return wire.ListOf(w.Keys, keyOf), nil
	})
}

// Revoke revokes a key. The error is a [*StatusError] with the code KEY_NOT_FOUND, KEY_DECLARED
// if it is in the server's configuration, or LAST_KEY if no other is left.
func (k *Keys) Revoke(ctx context.Context, name string) error {
	do := call{name: "revoke key", method: http.MethodDelete, path: "/v1/keys/" + url.PathEscape(name), changes: true}
	_, err := fetch(ctx, k.client, do, func(w wire.Revoked) (struct{}, error) {
		if w.Revoked != name {
			return struct{}{}, fmt.Errorf("the server revoked %q", w.Revoked)
		}
		return struct{}{}, nil
	})
	return err
}

func keyOf(w wire.Key) Key {
	return Key{
		Name: w.Name, Prefix: w.Prefix, CreatedBy: w.CreatedBy, DeclaredIn: w.DeclaredIn, Secret: w.Secret,
		CreatedAt: wire.ParseTime(w.CreatedAt), ExpiresAt: wire.ParseTime(w.ExpiresAt),
		Grants: wire.ListOf(w.Grants, func(g wire.Grant) Grant { return Grant(g) }),
	}
}
