package auth

import "time"

// MaxCached is how many keys a KeyStore caches.
const MaxCached = maxCached

// MaxToken is the maximum size of a token in bytes.
const MaxToken = maxToken

// SetClock replaces the clock of the cache. Call it before anything else.
func (s *KeyStore) SetClock(now func() time.Time) { s.cache.now = now }

// Cached returns how many keys and misses are cached.
func (s *KeyStore) Cached() (keys, misses int) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	return len(s.cache.keys), len(s.cache.misses)
}

// SessionDigest returns the digest of the key of a session that a store has kept.
func SessionDigest(stored string) Digest { return (&storedSession{Digest: stored}).digest() }

// Patient makes a verifier wait long for the answers of issuers.
func Patient(o TokenOptions) TokenOptions {
	o.fetchTimeout = time.Minute
	return o
}
