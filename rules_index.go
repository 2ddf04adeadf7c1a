package dibs

import (
	"fmt"
	"slices"
)

// maxLookAlikes is how many names of one entity may look alike: a decision about one
// of them looks at all.
const maxLookAlikes = 32

// filing is the content of a document that leads from a further key to names: from
// what look-alikes have in common, or from a keyed hash.
type filing struct {
	Names []ID `json:"names"`
}

// folder is where names are filed under a further key.
type folder struct {
	Ref
	link  LinkKind
	label string
}

// skeletonFolder is where names with this skeleton are.
func skeletonFolder(s space, skeleton string) folder {
	id := recordID("skeleton\x00" + s.namespace + ":" + skeleton)
	// A skeleton may be any text, and long: it is no label.
	return folder{Ref{KindSkeleton, s.scope, id}, LinkSkeleton, s.namespace + ":" + id.String()}
}

// hashFolder is where the name behind a keyed hash is.
func hashFolder(s space, hash string) folder {
	label := s.namespace + ":" + hash
	return folder{Ref{KindHash, s.scope, recordID("hash\x00" + label)}, LinkHash, label}
}

// folderOf returns where a link leads, if it is a further key.
func folderOf(l Link, d *draft) (folder, bool) {
	switch l.Kind {
	case LinkSkeleton:
		return folder{Ref: Ref{KindSkeleton, d.Scope, l.ID}, link: l.Kind}, true
	case LinkHash:
		return folder{Ref: Ref{KindHash, d.Scope, l.ID}, link: l.Kind}, true
	default:
		return folder{}, false
	}
}

// filed returns the names in a folder, and its revision. One that cannot be read fails
// the decision: taken for empty it would give away what is taken.
func (v *view) filed(f folder) ([]ID, uint64) {
	content, rev, err := readDocument[filing](v, f.Ref)
	if err != nil {
		v.fault = Unavailable(fmt.Errorf("%w: without it a name could be given away twice", err))
	}
	return content.Names, rev
}

// refile writes what is in a folder now.
func (v *view) refile(f folder, names []ID, rev uint64) {
	if doc, ok := v.get(f.Ref).(*Document); ok {
		f.label = doc.Label
	}
	writeDocument(v, f.Ref, f.label, rev, 0, filing{names})
}

// file puts a name into all folders of its keys. A folder that is new starts above
// the floor's revision: one that was there before may have been purged, and nobody may
// take it for this one. It returns how many names are in the fullest.
func (v *view) file(d *draft, s *subject, floor floor) (most int) {
	for _, f := range slices.Concat(s.skeletons, s.hashes) {
		names, rev := v.filed(f)
		kept := slices.DeleteFunc(slices.Clone(names), func(id ID) bool { return id != d.ID && v.isFree(id, s.scope) })
		if !slices.Contains(kept, d.ID) {
			kept = append(kept, d.ID)
		}
		most = max(most, len(kept))
		if !slices.Equal(names, kept) {
			v.refile(f, kept, max(rev, floor.Rev))
		}
		if link := (Link{f.link, f.ID}); !slices.Contains(d.Links, link) {
			d.Links = append(slices.Clip(d.Links), link)
		}
	}
	return most
}

// isFiled reports whether a name is in all folders of its keys, and knows it.
func (v *view) isFiled(d *draft, s *subject) bool {
	for _, f := range slices.Concat(s.skeletons, s.hashes) {
		if !slices.Contains(d.Links, Link{f.link, f.ID}) || v.absent(f.Ref) {
			return false
		}
		if names, _ := v.filed(f); !slices.Contains(names, d.ID) {
			return false
		}
	}
	return true
}

// unfile takes a name out of the folders it is in, and removes those that are empty
// then, except for the kept ones. It returns the highest revision of a removed one.
func (v *view) unfile(d *draft, keep ...folder) (highest uint64) {
	var links []Link
	for _, l := range d.Links {
		f, ok := folderOf(l, d)
		if !ok || slices.ContainsFunc(keep, func(k folder) bool { return k.Ref == f.Ref }) {
			links = append(links, l)
			continue
		}
		if v.absent(f.Ref) { // somebody has noticed already that it is free, and went himself
			continue
		}
		names, rev := v.filed(f)
		rest := slices.DeleteFunc(slices.Clone(names), func(id ID) bool { return id == d.ID })
		switch {
		case len(rest) == len(names): // somebody has noticed already that it is free
		case len(rest) > 0:
			v.refile(f, rest, rev)
		default:
			v.put(f.Ref, nil)
			highest = max(highest, rev)
		}
	}
	d.Links = links
	return highest
}

// isFree reports whether nobody has a name.
func (v *view) isFree(id ID, scope string) bool {
	d := v.nameByID(id, scope)
	return d == nil || d.State == Free
}
