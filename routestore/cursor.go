package routestore

import (
	"net/url"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// A cursor of the whole is that of each part that has one, by the part's name:
// "~default.1204~eu.17". So it stays good when parts are added: of a part that is not in
// it, everything is still to come. All of it can stand in a URL as it is.
const separator = "~"

// positions are the cursors of all parts; empty means the beginning.
type positions []dibs.Cursor

func (t *table) encode(at positions) dibs.Cursor {
	if len(t.names) == 1 {
		return at[0] // there is nothing to tell apart
	}
	var b strings.Builder
	for _, i := range t.byName() {
		if at[i] != "" {
			b.WriteString(separator + t.names[i] + "." + escape(string(at[i])))
		}
	}
	return dibs.Cursor(b.String())
}

// decode undoes encode, and accepts nothing else. But a cursor from before there were
// routes is one of the part with the rest, which had everything then.
func (t *table) decode(cursor dibs.Cursor) (positions, error) {
	at := make(positions, len(t.names))
	if !strings.HasPrefix(string(cursor), separator) {
		at[t.rest] = cursor
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

// byName returns the parts in the order of their names.
func (t *table) byName() []int {
	order := make([]int, len(t.names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(t.names[a], t.names[b]) })
	return order
}
