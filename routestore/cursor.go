package routestore

import (
	"net/url"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// A cursor of the whole feed has the cursors of its parts by name: "~default.1204~eu.17". It
// stays valid when parts are added: a part that is not in it is read from its beginning. It
// needs no escaping in a URL.
const separator = "~"

// positions are the cursors of all parts; empty means the beginning.
type positions []dibs.Cursor

func (t *table) encode(at positions) dibs.Cursor {
	if len(t.names) == 1 {
		return at[0]
	}
	var b strings.Builder
	for _, i := range t.byName() {
		if at[i] != "" {
			b.WriteString(separator + t.names[i] + "." + escape(string(at[i])))
		}
	}
	return dibs.Cursor(b.String())
}

// decode is the inverse of encode, and accepts no other spelling. A cursor from a store without
// routes is one of the default part, which had all scopes.
func (t *table) decode(cursor dibs.Cursor) (positions, error) {
	at := make(positions, len(t.names))
	if !strings.HasPrefix(string(cursor), separator) {
		at[t.defaultPart] = cursor
		return at, nil
	}
	for entry := range strings.SplitSeq(string(cursor[len(separator):]), separator) {
		name, escaped, _ := strings.Cut(entry, ".")
		i := slices.Index(t.names, name)
		position, err := url.QueryUnescape(escaped)
		if i < 0 || err != nil {
			return nil, dibs.ErrBadCursor
		}
		at[i] = dibs.Cursor(position)
	}
	if t.encode(at) != cursor {
		return nil, dibs.ErrBadCursor
	}
	return at, nil
}

func escape(cursor string) string {
	return strings.ReplaceAll(url.QueryEscape(cursor), separator, "%7E")
}

// byName returns the indexes of the parts in the order of their names.
func (t *table) byName() []int {
	order := make([]int, len(t.names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(t.names[a], t.names[b]) })
	return order
}
