package dibs

// BlindKey is a secret from which a blind namespace makes the keyed hashes that stand
// for its values. Whoever has the registry's data but not the secret cannot find out
// whether a value is there, not even by trying.
//
// Keys rotate: put a new one in front of the old one, in one process after the other.
// Every name that is taken from then on is filed under both, and looked for under
// both, so that processes that know the old key alone and those that know both never
// give one name to two. A name from before is filed under the new key when
// [Registry.Rekey] is told its value. The old key may go when all of them are.
//
// A secret that is lost cannot be replaced: nobody can tell any more which names are
// taken.
type BlindKey struct {
	// ID names the key: 1 to 16 of a-z and 0-9. It stands in front of every hash, so
	// that it can be told which key made it.
	ID string
	// Secret is 32 bytes or more, from a random source.
	Secret []byte
}

// String names the key. The secret is never shown.
func (k BlindKey) String() string { return "key " + k.ID }

// GoString is String, for %#v.
func (k BlindKey) GoString() string { return k.String() }

// MarshalText is String, for JSON.
func (k BlindKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
