package dibs

// Entity is the thing that owns names: a user, a product, a wedding. Type and
// ID are strings of the caller's choosing, 1 to 255 bytes of UTF-8 without
// control characters. The zero Entity stands for none.
//
// Entities live in the scope of the namespace in which they own names:
// user/42 in "acme.slug" and user/42 in "globex.slug" are two entities.
type Entity struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// IsZero reports whether there is no entity.
func (e Entity) IsZero() bool { return e == Entity{} }

// String returns the entity as type/id.
func (e Entity) String() string { return e.Type + "/" + e.ID }
