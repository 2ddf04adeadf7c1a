package linear

import (
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// Answer is what a caller was told, or by the model should be.
type Answer struct {
	// Lost says that there was none, or that it is not known what has happened. Then all
	// else is empty.
	Lost bool

	Code   dibs.Code // of a refusal; empty for a success
	Reason dibs.Reason

	Replayed  bool
	Names     []Seen // those that the command was about, or that an entity has
	Outcome   dibs.ResolveOutcome
	Entity    int // that a name leads to
	Available bool
	Archived  bool
	Version   uint64 // zero if nothing is said of it

	Told millis // when, by the machine's clock
}

// Seen is how a name was shown.
type Seen struct {
	Name   int
	State  dibs.State
	Status dibs.Status
	Epoch  uint64
	Entity int
	Ends   millis // of a hold; zero if it is none
}

// like reports whether two answers say the same, apart from dates and versions, which the
// model only knows bounds of.
func (a Answer) like(other Answer) bool {
	if a.Code != other.Code || a.Reason != other.Reason {
		return false
	}
	if a.Code != "" {
		return true
	}
	return a.Replayed == other.Replayed && a.Outcome == other.Outcome && a.Entity == other.Entity &&
		a.Available == other.Available && a.Archived == other.Archived && slices.EqualFunc(a.Names, other.Names, Seen.like)
}

func (s Seen) like(other Seen) bool {
	s.Ends, other.Ends = 0, 0
	return s == other
}

// String is how an Answer is shown in a history.
func (a Answer) String() string {
	switch {
	case a.Lost:
		return "no answer"
	case a.Code != "":
		return strings.TrimSpace(fmt.Sprintf("%s %s", a.Code, a.Reason))
	}
	var parts []string
	add := func(when bool, format string, args ...any) {
		if when {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(a.Replayed, "replayed")
	add(a.Outcome != "", "%s", a.Outcome)
	add(a.Entity != 0, "of entity %d", a.Entity)
	add(a.Available, "available")
	add(a.Archived, "archived")
	for _, n := range a.Names {
		add(true, "name %d %s (%s) epoch %d entity %d", n.Name, n.State, n.Status, n.Epoch, n.Entity)
		add(n.Ends != 0, "until %d", n.Ends)
	}
	add(a.Version != 0, "version %d", a.Version)
	if len(parts) == 0 {
		return "done"
	}
	return strings.Join(parts, ", ")
}
