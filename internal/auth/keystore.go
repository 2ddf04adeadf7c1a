package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/document"
)

// The errors of a KeyStore, for [errors.Is].
var (
	// ErrUnknownKey is returned if a secret is malformed or has no valid key: it never
	// existed, has expired, or was revoked. The error does not say which.
	ErrUnknownKey = errors.New("the key is not known, or no longer valid")
	// ErrKeyNotFound is returned if no key has the name.
	ErrKeyNotFound = errors.New("no key has this name")
	// ErrKeyNameTaken is returned if another key has the name.
	ErrKeyNameTaken = errors.New("a key of this name exists already: choose another name, or revoke that key")
)

// KeyStore finds, creates and revokes API keys in a store. It is safe for concurrent use.
// Make one with [NewKeyStore].
//
// It caches each answer for up to five seconds, so that a request does not cost a read. A
// key that another process revokes works for up to five more seconds; one that this
// KeyStore revokes stops working at once.
type KeyStore struct {
	store    dibs.Store
	cache    *keyCache
	declared atomic.Pointer[declaredKeys]
}

// NewKeyStore returns the keys in a store. The caller closes the store.
func NewKeyStore(store dibs.Store) *KeyStore {
	s := &KeyStore{store: store, cache: newKeyCache()}
	s.Declare(nil)
	return s
}

// Create makes a key from a name, grants and an expiry. It returns the key and its
// secret, which cannot be read again. After an error that matches
// [dibs.ErrOutcomeUnknown] the key may exist: revoke it, and create another.
func (s *KeyStore) Create(ctx context.Context, key Key) (_ Key, secret string, err error) {
	if err := key.Validate(); err != nil {
		return Key{}, "", err
	}
	if other, ok := s.declaredAs(key.Name); ok {
		return Key{}, "", fmt.Errorf("%w: %s, declared in %s", ErrKeyNameTaken, key.Name, other.DeclaredIn)
	}
	err = document.Update(ctx, s.store, func() (dibs.Group, error) {
		secret, key.Prefix = newSecret()
		return s.creation(ctx, &key, secret)
	})
	if err != nil {
		return Key{}, "", err
	}
	s.cache.invalidate(key.Name)
	return key, secret, nil
}

// creation returns the writes that create a key. It sets the key's times by the engine's
// clock.
func (s *KeyStore) creation(ctx context.Context, key *Key, secret string) (dibs.Group, error) {
	refs := []dibs.Ref{nameRef(key.Name), keyRef(key.Prefix)}
	found, err := s.store.Load(ctx, refs)
	if err != nil {
		return dibs.Group{}, err
	}
	hasName := func(record dibs.Record) bool { return record.Ref() == refs[0] }
	switch {
	case slices.ContainsFunc(found.Records, hasName):
		return dibs.Group{}, fmt.Errorf("%w: %s", ErrKeyNameTaken, key.Name)
	case len(found.Records) > 0: // another key has the prefix
		return dibs.Group{}, document.ErrStale
	}
	end := dibs.InstantOf(key.ExpiresAt)
	if end != 0 && end <= found.Now {
		return dibs.Group{}, &InvalidKeyError{"expiresAt", fmt.Sprintf("the key would expire at %s, which is in the past: it is %s now", end, found.Now)}
	}
	key.CreatedAt, key.ExpiresAt = found.Now.Time(), end.Time()
	keyDoc, nameDoc, err := key.documents(digestOf(secret))
	return dibs.Group{
		Reads:  []dibs.Read{{Ref: refs[0]}, {Ref: refs[1]}},
		Writes: []dibs.Write{{Record: nameDoc}, {Record: keyDoc}},
	}, err
}

// Revoke removes a key from the store. A new key may have its name. The error matches
// [ErrKeyDeclared] if only the configuration has the key.
func (s *KeyStore) Revoke(ctx context.Context, name string) error {
	err := document.Update(ctx, s.store, func() (dibs.Group, error) { return s.revocation(ctx, name) })
	s.cache.invalidate(name) // also after an error: the outcome may be unknown
	return err
}

// revocation returns the writes that remove a key.
func (s *KeyStore) revocation(ctx context.Context, name string) (group dibs.Group, err error) {
	nameDoc, _, err := s.load(ctx, nameRef(name))
	if err != nil {
		return group, err
	}
	if nameDoc == nil {
		if key, ok := s.declaredAs(name); ok {
			return group, fmt.Errorf("%w (%s)", ErrKeyDeclared, key.DeclaredIn)
		}
		return group, fmt.Errorf("%w: %q", ErrKeyNotFound, name)
	}
	keyDoc, _, err := s.load(ctx, keyRef(string(nameDoc.Data)))
	for _, doc := range []*dibs.Document{nameDoc, keyDoc} {
		if doc != nil {
			group.Reads = append(group.Reads, dibs.Read{Ref: doc.Ref(), Rev: doc.Rev})
			group.Writes = append(group.Writes, dibs.Write{Record: doc, Delete: true})
		}
	}
	return group, err
}

// Find returns the key of a secret. The error matches [ErrUnknownKey] if there is none;
// otherwise it is the engine's.
func (s *KeyStore) Find(ctx context.Context, secret string) (Key, error) {
	prefix, ok := prefixOf(secret)
	if !ok {
		return Key{}, ErrUnknownKey
	}
	return s.find(ctx, prefix, digestOf(secret))
}

// find returns the key with a prefix, if its secret has this digest.
func (s *KeyStore) find(ctx context.Context, prefix string, sum Digest) (Key, error) {
	if key, ok := s.declared.Load().bySecret[sum]; ok {
		if !key.ExpiresAt.IsZero() && !s.cache.now().Before(key.ExpiresAt) {
			return Key{}, ErrUnknownKey
		}
		return key, nil
	}
	key, cached := s.cache.get(sum)
	if !cached {
		asked := s.cache.now()
		var now dibs.Instant
		var err error
		if key, now, err = s.read(ctx, prefix, sum); err != nil {
			return Key{}, err
		}
		s.cache.put(sum, key, now, asked)
	}
	if key == nil {
		return Key{}, ErrUnknownKey
	}
	return *key, nil
}

// read returns the key of a secret from the engine, or nil if there is none, and the
// engine's time.
func (s *KeyStore) read(ctx context.Context, prefix string, sum Digest) (*Key, dibs.Instant, error) {
	doc, now, err := s.load(ctx, keyRef(prefix))
	if err != nil || doc == nil {
		return nil, now, err
	}
	key, want, err := decodeKey(doc)
	if err != nil {
		return nil, now, err
	}
	end := dibs.InstantOf(key.ExpiresAt)
	if subtle.ConstantTimeCompare(sum[:], want[:]) != 1 || end != 0 && end <= now {
		return nil, now, nil
	}
	return &key, now, nil
}

// load returns a document, or nil if there is none, and the engine's time.
func (s *KeyStore) load(ctx context.Context, ref dibs.Ref) (*dibs.Document, dibs.Instant, error) {
	found, err := s.store.Load(ctx, []dibs.Ref{ref})
	if err != nil || len(found.Records) == 0 {
		return nil, found.Now, err
	}
	doc, ok := found.Records[0].(*dibs.Document)
	if !ok {
		return nil, 0, fmt.Errorf("the engine returned a %T for a document", found.Records[0])
	}
	return doc, found.Now, nil
}

const listPage = 100

// List returns all keys by name, including those of the configuration and those that have expired.
func (s *KeyStore) List(ctx context.Context) ([]Key, error) {
	keys, err := s.stored(ctx)
	if err != nil {
		return nil, err
	}
	keys = append(keys, s.declared.Load().list...)
	slices.SortStableFunc(keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return keys, nil
}

// stored returns the keys in the store.
func (s *KeyStore) stored(ctx context.Context) (keys []Key, err error) {
	query := dibs.ListQuery{Kind: kindKey, Limit: listPage}
	for {
		page, err := s.store.List(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, record := range page {
			doc, ok := record.(*dibs.Document)
			if !ok {
				continue
			}
			key, _, err := decodeKey(doc)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
			query.After = &dibs.ListPosition{Label: doc.Label}
		}
		if len(page) < listPage {
			return keys, nil
		}
	}
}

// Any reports whether there is a key, including those that have expired. The answer may be
// a second old, unless this KeyStore has created or revoked a key since.
func (s *KeyStore) Any(ctx context.Context) (bool, error) {
	if len(s.declared.Load().list) > 0 {
		return true, nil
	}
	if some, cached := s.cache.getAny(); cached {
		return some, nil
	}
	asked := s.cache.now()
	page, err := s.store.List(ctx, dibs.ListQuery{Kind: kindKey, Limit: 1})
	if err != nil {
		return false, err
	}
	s.cache.putAny(len(page) > 0, asked)
	return len(page) > 0, nil
}

const (
	keepKey   = 5 * time.Second // how long a key is cached
	keepMiss  = time.Second     // how long a secret without a key is cached
	keepAny   = time.Second
	maxCached = 1000 // keys, and as many misses
)

// keyCache caches keys by the digests of their secrets. Keys and misses are in separate maps,
// so that guesses do not evict keys.
type keyCache struct {
	now func() time.Time

	mu     sync.Mutex
	keys   map[Digest]cachedKey
	misses map[Digest]cachedKey
	// some is whether there is a key at all, valid until someUntil.
	some      bool
	someUntil time.Time
	// changed is when this KeyStore last created or revoked a key. Answers to earlier
	// reads are not cached.
	changed time.Time
}

// cachedKey is an answer, valid until a time.
type cachedKey struct {
	key   *Key // nil means a miss
	until time.Time
}

func newKeyCache() *keyCache {
	return &keyCache{now: time.Now, keys: make(map[Digest]cachedKey), misses: make(map[Digest]cachedKey)}
}

// get returns the cached answer for a secret. A nil key is a miss.
func (c *keyCache) get(sum Digest) (key *Key, cached bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for _, answers := range []map[Digest]cachedKey{c.keys, c.misses} {
		if a, ok := answers[sum]; ok {
			if now.Before(a.until) {
				return a.key, true
			}
			delete(answers, sum)
		}
	}
	return nil, false
}

// put caches the answer to a read that began at asked, at which the engine's clock showed
// now. A key is not cached beyond its expiry.
func (c *keyCache) put(sum Digest, key *Key, now dibs.Instant, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !asked.After(c.changed) {
		return
	}
	answers, keep := c.misses, keepMiss
	if key != nil {
		answers, keep = c.keys, keepKey
		if !key.ExpiresAt.IsZero() {
			keep = min(keep, dibs.InstantOf(key.ExpiresAt).Sub(now))
		}
	}
	for other := range answers { // if there is no room, evict an arbitrary answer
		if len(answers) < maxCached {
			break
		}
		delete(answers, other)
	}
	answers[sum] = cachedKey{key, asked.Add(keep)}
}

func (c *keyCache) getAny() (some, cached bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.some, c.now().Before(c.someUntil)
}

func (c *keyCache) putAny(some bool, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked.After(c.changed) {
		c.some, c.someUntil = some, asked.Add(keepAny)
	}
}

// invalidate removes a key, and the answer of Any.
func (c *keyCache) invalidate(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for sum, a := range c.keys {
		if a.key.Name == name {
			delete(c.keys, sum)
		}
	}
	c.someUntil, c.changed = time.Time{}, c.now()
}
