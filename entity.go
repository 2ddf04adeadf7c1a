package dibs

import "strings"

// Entity is the owner of names: a user, a product, a wedding. The caller chooses Type and ID: 1
// to 255 bytes of UTF-8 without control characters. The zero Entity means none.
//
// An entity exists in the scope of the namespace in which it owns names: user/42 in "acme.slug"
// and user/42 in "globex.slug" are two entities.
type Entity struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// IsZero reports whether there is no entity.
func (e Entity) IsZero() bool { return e == Entity{} }

// String returns the entity as type/id.
func (e Entity) String() string { return e.Type + "/" + e.ID }

// ScopeOf returns the scope of a namespace: the part before its last dot, or empty if it has
// none. It does not validate the namespace.
func ScopeOf(namespace string) string {
	return namespace[:max(0, strings.LastIndexByte(namespace, '.'))]
}
