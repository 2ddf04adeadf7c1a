package keys

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

// Ring finds and keeps keys. It is safe for concurrent use. Make one with [NewRing].
//
// What it found it believes for up to five seconds, so that a request does not cost a
// read. A key that another process revokes works up to five seconds longer; one that
// this Ring revokes ends at once.
type Ring struct {
	store dibs.Store
	cache *cache
}

// NewRing returns the keys in a store. Closing the store is left to the caller.
func NewRing(store dibs.Store) *Ring {
	return &Ring{store: store, cache: newCache()}
}

// Create makes a key of the name, the grants and the end that are given. It returns the
// key and its secret, which cannot be had again. After an error that matches
// [dibs.ErrOutcomeUnknown] the key may be there: revoke it, and make a new one.
func (r *Ring) Create(ctx context.Context, key Key) (_ Key, secret string, err error) {
	if err := key.Validate(); err != nil {
		return Key{}, "", err
	}
	err = r.insist(ctx, func() (dibs.Group, error) {
		secret, key.Prefix = newSecret()
		return r.creation(ctx, &key, secret)
	})
	if err != nil {
		return Key{}, "", err
	}
	r.cache.forget(key.Name) // and that there is none
	return key, secret, nil
}

// creation returns the changes that make a key, and dates the key.
func (r *Ring) creation(ctx context.Context, key *Key, secret string) (dibs.Group, error) {
	refs := []dibs.Ref{nameRef(key.Name), keyRef(key.Prefix)}
	found, err := r.store.Load(ctx, refs)
	if err != nil {
		return dibs.Group{}, err
	}
	hasName := func(record dibs.Record) bool { return record.Ref() == refs[0] }
	switch {
	case slices.ContainsFunc(found.Records, hasName):
		return dibs.Group{}, fmt.Errorf("%w: %s", ErrNameTaken, key.Name)
	case len(found.Records) > 0: // another key has the prefix
		return dibs.Group{}, errAgain
	}
	end := dibs.InstantOf(key.ExpiresAt)
	if end != 0 && end <= found.Now {
		return dibs.Group{}, fmt.Errorf("keys: the key would be over already, at %s: it is %s now", end, found.Now)
	}
	key.CreatedAt, key.ExpiresAt = found.Now.Time(), end.Time()
	keyDoc, nameDoc, err := key.documents(digestOf(secret))
	return dibs.Group{
		Reads:  []dibs.Read{{Ref: refs[0]}, {Ref: refs[1]}},
		Writes: []dibs.Write{{Record: nameDoc}, {Record: keyDoc}},
	}, err
}

// Revoke ends a key for good. Its name can be given to another one.
func (r *Ring) Revoke(ctx context.Context, name string) error {
	err := r.insist(ctx, func() (dibs.Group, error) { return r.revocation(ctx, name) })
	r.cache.forget(name) // also if it failed: it may have happened
	return err
}

// revocation returns the changes that remove a key.
func (r *Ring) revocation(ctx context.Context, name string) (dibs.Group, error) {
	nameDoc, _, err := r.load(ctx, nameRef(name))
	if err != nil {
		return dibs.Group{}, err
	}
	if nameDoc == nil {
		return dibs.Group{}, fmt.Errorf("%w: %q", ErrNotFound, name)
	}
	group := removal(nameDoc)
	keyDoc, _, err := r.load(ctx, keyRef(string(nameDoc.Data)))
	if err == nil && keyDoc != nil {
		other := removal(keyDoc)
		group.Reads, group.Writes = append(group.Reads, other.Reads...), append(group.Writes, other.Writes...)
	}
	return group, err
}

func removal(doc *dibs.Document) dibs.Group {
	return dibs.Group{
		Reads:  []dibs.Read{{Ref: doc.Ref(), Rev: doc.Rev}},
		Writes: []dibs.Write{{Record: doc, Delete: true}},
	}
}

// Find returns the key of a secret, or an error that matches [ErrUnknown], or one of the
// engine.
func (r *Ring) Find(ctx context.Context, secret string) (Key, error) {
	prefix, ok := prefixOf(secret)
	if !ok {
		return Key{}, ErrUnknown
	}
	sum := digestOf(secret)
	if key, known := r.cache.get(sum); known {
		if key == nil {
			return Key{}, ErrUnknown
		}
		return *key, nil
	}
	since := r.cache.now()
	key, now, err := r.look(ctx, prefix, sum)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return Key{}, err
	}
	r.cache.put(sum, key, now, since)
	if key == nil {
		return Key{}, ErrUnknown
	}
	return *key, nil
}

// look asks the engine for the key of a secret, and for the time.
func (r *Ring) look(ctx context.Context, prefix string, sum digest) (*Key, dibs.Instant, error) {
	doc, now, err := r.load(ctx, keyRef(prefix))
	if err != nil {
		return nil, 0, err
	}
	if doc == nil {
		return nil, now, ErrUnknown
	}
	key, want, err := read(doc)
	if err != nil {
		return nil, 0, err
	}
	end := dibs.InstantOf(key.ExpiresAt)
	if subtle.ConstantTimeCompare(sum[:], want[:]) != 1 || end != 0 && end <= now {
		return nil, now, ErrUnknown
	}
	return &key, now, nil
}

// load returns a document, or nil where there is none, and the engine's time.
func (r *Ring) load(ctx context.Context, ref dibs.Ref) (*dibs.Document, dibs.Instant, error) {
	found, err := r.store.Load(ctx, []dibs.Ref{ref})
	if err != nil || len(found.Records) == 0 {
		return nil, found.Now, err
	}
	doc, ok := found.Records[0].(*dibs.Document)
	if !ok {
		return nil, 0, fmt.Errorf("keys: the engine returned a %T for a document", found.Records[0])
	}
	return doc, found.Now, nil
}
