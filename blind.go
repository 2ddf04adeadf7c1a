package dibs

// BlindKey is a secret from which a blind namespace makes the keyed hashes that it stores
// instead of values. The registry's data without the secret does not tell whether a value is
// stored, even to an attacker who tries values.
//
// To rotate keys, put a new key in front of the old one, in one process after the other. Names
// that are taken from then on are indexed and looked up under both keys, so processes that know
// only the old key and processes that know both never give one name to two owners.
// [Registry.Rekey] adds an older name to the index of the new key. Remove the old key when the
// index of the new key has all names.
//
// A lost secret cannot be replaced: without it the registry cannot tell which names are taken.
type BlindKey struct {
	// ID names the key: 1 to 16 of a-z and 0-9. It prefixes every hash of the key.
	ID string
	// Secret is 32 bytes or more, from a random source.
	Secret []byte
}

// String names the key without the secret.
func (k BlindKey) String() string { return "key " + k.ID }

// GoString is String, for %#v.
func (k BlindKey) GoString() string { return k.String() }

// MarshalText is String, for JSON.
func (k BlindKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
