package rules

import (
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

// maxLookAlikes is how many names of one entity may look alike: a decision about one
// of them looks at all.
const maxLookAlikes = 32

// filing is the content of a document that leads from a further key to names: from
// what look-alikes have in common, or from a keyed hash.
type indexEntry struct {
	Names []dibs.ID `json:"names"`
}

// folder is where names are filed under a further key.
type indexKey struct {
	dibs.Ref
	link  dibs.LinkKind
	label string
}

// skeletonFolder is where names with this skeleton are.
func skeletonKey(ns namespaceInfo, skeleton string) indexKey {
	id := recordID("skeleton\x00" + ns.namespace + ":" + skeleton)
	// A skeleton may be any text, and long: it is no label.
	return indexKey{dibs.Ref{Kind: dibs.KindSkeleton, Scope: ns.scope, ID: id}, dibs.LinkSkeleton, ns.namespace + ":" + id.String()}
}

// hashFolder is where the name behind a keyed hash is.
func hashKey(ns namespaceInfo, hash string) indexKey {
	label := ns.namespace + ":" + hash
	return indexKey{dibs.Ref{Kind: dibs.KindHash, Scope: ns.scope, ID: recordID("hash\x00" + label)}, dibs.LinkHash, label}
}

// folderOf returns where a link leads, if it is a further key.
func indexKeyOf(l dibs.Link, n *nameState) (indexKey, bool) {
	switch l.Kind {
	case dibs.LinkSkeleton:
		return indexKey{Ref: dibs.Ref{Kind: dibs.KindSkeleton, Scope: n.Scope, ID: l.ID}, link: l.Kind}, true
	case dibs.LinkHash:
		return indexKey{Ref: dibs.Ref{Kind: dibs.KindHash, Scope: n.Scope, ID: l.ID}, link: l.Kind}, true
	default:
		return indexKey{}, false
	}
}

// filed returns the names in a folder, and its revision. One that cannot be read fails
// the decision: taken for empty it would give away what is taken.
func (v *view) readIndex(key indexKey) ([]dibs.ID, uint64) {
	content, rev, err := readDocument[indexEntry](v, key.Ref)
	if err != nil {
		v.fault = dibs.Unavailable(fmt.Errorf("%w: without it a name could be given away twice", err))
	}
	return content.Names, rev
}

// refile writes what is in a folder now.
func (v *view) writeIndex(key indexKey, names []dibs.ID, rev uint64) {
	if doc, ok := v.get(key.Ref).(*dibs.Document); ok {
		key.label = doc.Label
	}
	writeDocument(v, key.Ref, key.label, rev, 0, indexEntry{names})
}

// file puts a name into all folders of its keys. A folder that is new starts above
// the floor's revision: one that was there before may have been purged, and nobody may
// take it for this one. It returns how many names are in the fullest.
func (v *view) addToIndex(n *nameState, t *target, record NamespaceRecord) (most int) {
	for _, key := range slices.Concat(t.skeletons, t.hashes) {
		names, rev := v.readIndex(key)
		kept := slices.DeleteFunc(slices.Clone(names), func(id dibs.ID) bool { return id != n.ID && v.isFree(id, t.scope) })
		if !slices.Contains(kept, n.ID) {
			kept = append(kept, n.ID)
		}
		most = max(most, len(kept))
		if !slices.Equal(names, kept) {
			v.writeIndex(key, kept, max(rev, record.Rev))
		}
		if link := (dibs.Link{Kind: key.link, ID: key.ID}); !slices.Contains(n.Links, link) {
			n.Links = append(slices.Clip(n.Links), link)
		}
	}
	return most
}

// isFiled reports whether a name is in all folders of its keys, and knows it.
func (v *view) isIndexed(n *nameState, t *target) bool {
	for _, key := range slices.Concat(t.skeletons, t.hashes) {
		if !slices.Contains(n.Links, dibs.Link{Kind: key.link, ID: key.ID}) || v.absent(key.Ref) {
			return false
		}
		if names, _ := v.readIndex(key); !slices.Contains(names, n.ID) {
			return false
		}
	}
	return true
}

// unfile takes a name out of the folders it is in, and removes those that are empty
// then, except for the kept ones. It returns the highest revision of a removed one.
func (v *view) removeFromIndex(n *nameState, keep ...indexKey) (highest uint64) {
	var links []dibs.Link
	for _, l := range n.Links {
		key, ok := indexKeyOf(l, n)
		if !ok || slices.ContainsFunc(keep, func(k indexKey) bool { return k.Ref == key.Ref }) {
			links = append(links, l)
			continue
		}
		if v.absent(key.Ref) { // somebody has noticed already that it is free, and went himself
			continue
		}
		names, rev := v.readIndex(key)
		rest := slices.DeleteFunc(slices.Clone(names), func(id dibs.ID) bool { return id == n.ID })
		switch {
		case len(rest) == len(names): // somebody has noticed already that it is free
		case len(rest) > 0:
			v.writeIndex(key, rest, rev)
		default:
			v.put(key.Ref, nil)
			highest = max(highest, rev)
		}
	}
	n.Links = links
	return highest
}

// isFree reports whether nobody has a name.
func (v *view) isFree(id dibs.ID, scope string) bool {
	n := v.nameByID(id, scope)
	return n == nil || n.State == dibs.Free
}
