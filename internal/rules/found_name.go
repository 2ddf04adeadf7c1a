package rules

import (
	"slices"

	"github.com/calldibs/dibs"
)

// FoundName is the answer of [Policies.FindName]: a name, with what is needed to read its history.
type FoundName struct {
	target *target
	state  *nameState
}

// FindName asks for a name, which may be free.
func (set *Policies) FindName(namespace, value string) (*Job[FoundName], *dibs.Error) {
	p := set.preparer()
	t, err := p.target(namespace, value, "")
	if err != nil {
		return nil, err
	}
	return newQuestion(p, func(v *view) (FoundName, *dibs.Error) { return FoundName{t, v.name(t)}, nil }), nil
}

// Row returns the ID and the revision of the name's row.
func (n FoundName) Row() (dibs.ID, uint64) { return n.state.ID, n.state.Rev }

// FormerRows returns the rows that had the name before the rules of its namespace changed.
func (n FoundName) FormerRows() []dibs.ID { return n.state.linked(dibs.LinkMovedFrom) }

// Means reports whether a value is this name, by the present rules.
func (n FoundName) Means(value string) bool { return n.target.means(value) }

// EndedAlone calls fn with what ended by itself and is not in the history yet, newest first, until
// fn returns false: the date, and the state from then on.
func (n FoundName) EndedAlone(fn func(at dibs.Instant, now dibs.Snapshot) bool) {
	for _, l := range slices.Backward(n.state.lapses) {
		if !fn(l.at, l.after) {
			return
		}
	}
}
