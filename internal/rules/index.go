package rules

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// maxLookAlikes is how many names of one entity may look alike: a decision about one of them reads
// all of them.
const maxLookAlikes = 32

// indexKey is a second key under which names are found: a skeleton, which look-alikes have in
// common, or a keyed hash.
type indexKey struct {
	dibs.Ref
	link  dibs.Link // of a name that is found under it
	label string
}

// indexKinds has the kind of the entry that a link leads to, for links to index entries.
var indexKinds = map[dibs.LinkKind]dibs.Kind{dibs.LinkSkeleton: dibs.KindSkeleton, dibs.LinkHash: dibs.KindHash}

type indexEntry struct {
	Names []dibs.ID `json:"names"`
}

func skeletonKey(ns namespaceInfo, skeleton string) indexKey {
	id := recordID("skeleton\x00" + ns.namespace + ":" + skeleton)
	key, _ := indexKeyOf(dibs.Link{Kind: dibs.LinkSkeleton, ID: id}, ns.scope)
	key.label = ns.namespace + ":" + id.String() // a skeleton may be any text of any length: it cannot be the label
	return key
}

func hashKey(ns namespaceInfo, hash string) indexKey {
	label := ns.namespace + ":" + hash
	key, _ := indexKeyOf(dibs.Link{Kind: dibs.LinkHash, ID: recordID("hash\x00" + label)}, ns.scope)
	key.label = label
	return key
}

// indexKeyOf returns the index key of a link, if it is one.
func indexKeyOf(l dibs.Link, scope string) (indexKey, bool) {
	kind, ok := indexKinds[l.Kind]
	return indexKey{Ref: dibs.Ref{Kind: kind, Scope: scope, ID: l.ID}, link: l}, ok
}

// readIndex returns the names under an index key, and the entry's revision. An entry that cannot
// be read fails the decision: if it counted as empty, a taken name could be given away.
func (v *view) readIndex(key indexKey) ([]dibs.ID, uint64) {
	content, rev, err := readDocument[indexEntry](v, key.Ref)
	if err != nil {
		v.fault = dibs.Unavailable(fmt.Errorf("%w: without it a name could be given away twice", err))
	}
	return content.Names, rev
}

func (v *view) writeIndex(key indexKey, names []dibs.ID, rev uint64) {
	if doc, ok := v.get(key.Ref).(*dibs.Document); ok {
		key.label = doc.Label
	}
	writeDocument(v, key.Ref, key.label, rev, 0, indexEntry{names})
}

// addToIndex adds a name to the entries of all its keys. A new entry starts above the namespace
// record's revision: an entry of the same key may have been purged, and the two must not be
// confused. It returns how many names the largest entry has.
func (v *view) addToIndex(n *nameState, t *target, record NamespaceRecord) (most int) {
	for _, key := range slices.Concat(t.skeletons, t.hashes) {
		names, rev := v.readIndex(key)
		kept := slices.DeleteFunc(slices.Clone(names), func(id dibs.ID) bool {
			if id == n.ID {
				return false
			}
			other := v.nameByID(id, t.scope)
			return other == nil || other.State == dibs.Free
		})
		if !slices.Contains(kept, n.ID) {
			kept = append(kept, n.ID)
		}
		most = max(most, len(kept))
		if !slices.Equal(names, kept) {
			v.writeIndex(key, kept, max(rev, record.Rev))
		}
		if !slices.Contains(n.Links, key.link) {
			n.Links = append(slices.Clip(n.Links), key.link)
		}
	}
	return most
}

// isIndexed reports whether a name is in the entries of all its keys, and links to them.
func (v *view) isIndexed(n *nameState, t *target) bool {
	for _, key := range slices.Concat(t.skeletons, t.hashes) {
		if !slices.Contains(n.Links, key.link) || !v.isListed(key, n) {
			return false
		}
	}
	return true
}

// isListed reports whether a name is in the entry of a key.
func (v *view) isListed(key indexKey, n *nameState) bool {
	if v.absent(key.Ref) {
		return false
	}
	names, _ := v.readIndex(key)
	return slices.Contains(names, n.ID)
}

// removeFromIndex removes a name from its index entries, except for those to keep, and deletes
// entries that are empty then. It returns the highest revision of a deleted entry.
func (v *view) removeFromIndex(n *nameState, keep ...indexKey) (highest uint64) {
	var links []dibs.Link
	for _, l := range n.Links {
		key, ok := indexKeyOf(l, n.Scope)
		if !ok || slices.ContainsFunc(keep, func(k indexKey) bool { return k.Ref == key.Ref }) {
			links = append(links, l)
			continue
		}
		if v.absent(key.Ref) { // another decision found the name free, and deleted the entry
			continue
		}
		names, rev := v.readIndex(key)
		rest := slices.DeleteFunc(slices.Clone(names), func(id dibs.ID) bool { return id == n.ID })
		switch {
		case len(rest) == len(names): // another decision found the name free, and removed it
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

// IndexedNames decodes an index entry: the names that its key leads to.
func IndexedNames(doc *dibs.Document) ([]dibs.ID, *dibs.Error) {
	content, err := decodeDocument[indexEntry](doc)
	if err != nil {
		return nil, dibs.Unavailable(err)
	}
	return content.Names, nil
}

// HashPrefix returns the prefix of the labels of index entries under a blind namespace's newest
// key.
func (set *Policies) HashPrefix(namespace string) (string, *dibs.Error) {
	ns, err := set.namespace(namespace)
	if err != nil {
		return "", err
	}
	return namespace + ":" + ns.policy.Blind[0].ID + ".", nil
}

const (
	minBlindSecret = 32
	maxBlindKeys   = 4
	maxBlindKeyID  = 16
)

func checkBlind(keys []dibs.BlindKey) error {
	if len(keys) > maxBlindKeys {
		return fmt.Errorf("there are %d keys in Blind, more than the %d allowed", len(keys), maxBlindKeys)
	}
	seen := make(map[string]bool)
	other := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	for _, k := range keys {
		switch {
		case k.ID == "" || len(k.ID) > maxBlindKeyID || strings.ContainsFunc(k.ID, other):
			return fmt.Errorf("the key ID %s in Blind must be 1 to %d characters of a-z and 0-9", quote(k.ID), maxBlindKeyID)
		case len(k.Secret) < minBlindSecret:
			return fmt.Errorf("the secret of %s in Blind has %d bytes, it must have at least %d", k, len(k.Secret), minBlindSecret)
		case seen[k.ID]:
			return fmt.Errorf("two keys in Blind have the ID %s", k.ID)
		}
		seen[k.ID] = true
	}
	return nil
}

// blind reports whether values are replaced by keyed hashes.
func (p *policy) blind() bool { return len(p.Blind) > 0 }

// hide replaces the name's value and canonical form by keyed hashes.
func (t *target) hide(canonical string) {
	for i, k := range t.policy.Blind {
		sum := keyedHash(k, dibs.KindHash, t.namespace, canonical)
		t.hashes = append(t.hashes, hashKey(t.namespaceInfo, sum))
		if i == 0 {
			t.value, t.canonical = sum, sum
		}
	}
}

// keyedHash returns the keyed hash of a text. Its purpose and the namespace are hashed too, so that
// hashes do not tell that a value is in two namespaces.
func keyedHash(k dibs.BlindKey, purpose dibs.Kind, namespace, text string) string {
	mac := hmac.New(sha256.New, k.Secret)
	mac.Write([]byte(string(purpose) + "\x00" + namespace + "\x00" + text))
	return k.ID + "." + hashEncoding.EncodeToString(mac.Sum(nil))
}

var hashEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
