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
func skeletonKey(s namespaceInfo, skeleton string) indexKey {
	id := recordID("skeleton\x00" + s.namespace + ":" + skeleton)
	// A skeleton may be any text, and long: it is no label.
	return indexKey{dibs.Ref{Kind: dibs.KindSkeleton, Scope: s.scope, ID: id}, dibs.LinkSkeleton, s.namespace + ":" + id.String()}
}

// hashFolder is where the name behind a keyed hash is.
func hashKey(s namespaceInfo, hash string) indexKey {
	label := s.namespace + ":" + hash
	return indexKey{dibs.Ref{Kind: dibs.KindHash, Scope: s.scope, ID: recordID("hash\x00" + label)}, dibs.LinkHash, label}
}

// folderOf returns where a link leads, if it is a further key.
func indexKeyOf(l dibs.Link, d *nameState) (indexKey, bool) {
	switch l.Kind {
	case dibs.LinkSkeleton:
		return indexKey{Ref: dibs.Ref{Kind: dibs.KindSkeleton, Scope: d.Scope, ID: l.ID}, link: l.Kind}, true
	case dibs.LinkHash:
		return indexKey{Ref: dibs.Ref{Kind: dibs.KindHash, Scope: d.Scope, ID: l.ID}, link: l.Kind}, true
	default:
		return indexKey{}, false
	}
}

// filed returns the names in a folder, and its revision. One that cannot be read fails
// the decision: taken for empty it would give away what is taken.
func (v *view) indexed(f indexKey) ([]dibs.ID, uint64) {
	content, rev, err := readDocument[indexEntry](v, f.Ref)
	if err != nil {
		v.fault = dibs.Unavailable(fmt.Errorf("%w: without it a name could be given away twice", err))
	}
	return content.Names, rev
}

// refile writes what is in a folder now.
func (v *view) writeIndex(f indexKey, names []dibs.ID, rev uint64) {
	if doc, ok := v.get(f.Ref).(*dibs.Document); ok {
		f.label = doc.Label
	}
	writeDocument(v, f.Ref, f.label, rev, 0, indexEntry{names})
}

// file puts a name into all folders of its keys. A folder that is new starts above
// the floor's revision: one that was there before may have been purged, and nobody may
// take it for this one. It returns how many names are in the fullest.
func (v *view) addToIndex(d *nameState, s *target, floor NamespaceRecord) (most int) {
	for _, f := range slices.Concat(s.skeletons, s.hashes) {
		names, rev := v.indexed(f)
		kept := slices.DeleteFunc(slices.Clone(names), func(id dibs.ID) bool { return id != d.ID && v.isFree(id, s.scope) })
		if !slices.Contains(kept, d.ID) {
			kept = append(kept, d.ID)
		}
		most = max(most, len(kept))
		if !slices.Equal(names, kept) {
			v.writeIndex(f, kept, max(rev, floor.Rev))
		}
		if link := (dibs.Link{Kind: f.link, ID: f.ID}); !slices.Contains(d.Links, link) {
			d.Links = append(slices.Clip(d.Links), link)
		}
	}
	return most
}

// isFiled reports whether a name is in all folders of its keys, and knows it.
func (v *view) isIndexed(d *nameState, s *target) bool {
	for _, f := range slices.Concat(s.skeletons, s.hashes) {
		if !slices.Contains(d.Links, dibs.Link{Kind: f.link, ID: f.ID}) || v.absent(f.Ref) {
			return false
		}
		if names, _ := v.indexed(f); !slices.Contains(names, d.ID) {
			return false
		}
	}
	return true
}

// unfile takes a name out of the folders it is in, and removes those that are empty
// then, except for the kept ones. It returns the highest revision of a removed one.
func (v *view) removeFromIndex(d *nameState, keep ...indexKey) (highest uint64) {
	var links []dibs.Link
	for _, l := range d.Links {
		f, ok := indexKeyOf(l, d)
		if !ok || slices.ContainsFunc(keep, func(k indexKey) bool { return k.Ref == f.Ref }) {
			links = append(links, l)
			continue
		}
		if v.absent(f.Ref) { // somebody has noticed already that it is free, and went himself
			continue
		}
		names, rev := v.indexed(f)
		rest := slices.DeleteFunc(slices.Clone(names), func(id dibs.ID) bool { return id == d.ID })
		switch {
		case len(rest) == len(names): // somebody has noticed already that it is free
		case len(rest) > 0:
			v.writeIndex(f, rest, rev)
		default:
			v.put(f.Ref, nil)
			highest = max(highest, rev)
		}
	}
	d.Links = links
	return highest
}

// isFree reports whether nobody has a name.
func (v *view) isFree(id dibs.ID, scope string) bool {
	d := v.nameByID(id, scope)
	return d == nil || d.State == dibs.Free
}
