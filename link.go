package dibs

import "fmt"

// Link ties a name's row to another record.
type Link struct {
	Kind LinkKind
	ID   ID
}

// LinkKind says what a [Link] leads to.
type LinkKind byte

// The kinds of link.
const (
	LinkSkeleton  LinkKind = 's' // the index document of the name and its look-alikes
	LinkHash      LinkKind = 'h' // an index document that leads to the name, in a blind namespace
	LinkMovedTo   LinkKind = 't' // the row that has the name since the rules of its namespace changed
	LinkMovedFrom LinkKind = 'f' // a row that had the name before that
)

// linkSize is the length of one encoded link.
const linkSize = 1 + len(ID{})

// EncodeLinks returns links in the form that engines store; nil for none.
func EncodeLinks(links []Link) []byte {
	if len(links) == 0 {
		return nil
	}
	data := make([]byte, 0, len(links)*linkSize)
	for _, l := range links {
		data = append(data, byte(l.Kind))
		data = append(data, l.ID[:]...)
	}
	return data
}

// DecodeLinks is the inverse of EncodeLinks.
func DecodeLinks(data []byte) ([]Link, error) {
	if len(data)%linkSize != 0 {
		return nil, fmt.Errorf("dibs: the links of a name are damaged: %d bytes, not a multiple of %d", len(data), linkSize)
	}
	var links []Link
	for ; len(data) > 0; data = data[linkSize:] {
		links = append(links, Link{LinkKind(data[0]), ID(data[1:linkSize])})
	}
	return links, nil
}
