package linear

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// The sizes of a history. Names, entities and tokens are numbered from 1; zero means that an
// Op has none.
const (
	maxNames    = 4
	maxEntities = 4
	maxTokens   = 10 // fewer than a name remembers
)

// Verb is a kind of operation.
type Verb string

// The verbs. ReserveBoth is a ReserveAll of two names.
const (
	Reserve      Verb = "reserve"
	ReserveBoth  Verb = "reserve-both"
	Extend       Verb = "extend"
	Confirm      Verb = "confirm"
	Replace      Verb = "replace" // a confirm that replaces the current name
	Release      Verb = "release"
	Claim        Verb = "claim"
	Rename       Verb = "rename"
	Decommission Verb = "decommission"
	Transfer     Verb = "transfer"
	Swap         Verb = "swap"
	Archive      Verb = "archive"
	Restore      Verb = "restore"
	Delete       Verb = "delete"
	Resolve      Verb = "resolve"
	Get          Verb = "get"
	Check        Verb = "check"
	Names        Verb = "names" // of an entity
)

// reads reports whether a verb is a read.
func (v Verb) reads() bool {
	return v == Resolve || v == Get || v == Check || v == Names
}

// hasVersion reports whether the answer to a verb has the version of its entity.
func (v Verb) hasVersion() bool {
	switch v {
	case Confirm, Replace, Claim, Rename, Decommission, Transfer, Archive, Restore, Delete, Names:
		return true
	default: // it is about no entity, or about two
		return false
	}
}

// Op is a request of one caller, and its time.
type Op struct {
	Verb   Verb
	Name   int
	Other  int // the second name of a ReserveBoth or Swap
	Entity int
	To     int // the second entity of a Transfer or Swap
	Token  int
	TTL    time.Duration

	Asked millis        // by the machine's clock, for rules that depend on time
	Jumps time.Duration // how far the engine's clock may be from the machine's
}

// millis is a time in milliseconds since 1970, the precision of the registry.
type millis int64

func at(t time.Time) millis { return millis(t.UnixMilli()) }

func (m millis) plus(d time.Duration) millis { return m + millis(d.Milliseconds()) }

// String formats an Op for a history.
func (o Op) String() string {
	var text strings.Builder
	text.WriteString(string(o.Verb))
	for _, part := range []struct {
		word   string
		number int
	}{{"name", o.Name}, {"name", o.Other}, {"entity", o.Entity}, {"to entity", o.To}, {"token", o.Token}} {
		if part.number != 0 {
			fmt.Fprintf(&text, " %s %d", part.word, part.number)
		}
	}
	if o.TTL != 0 {
		fmt.Fprintf(&text, " for %v", o.TTL)
	}
	return text.String()
}

// Answer is what a caller got, or what the model expects.
type Answer struct {
	// Lost says that there was no answer, or that the outcome is unknown. All other
	// fields are then empty.
	Lost bool

	Code   dibs.Code // of a refusal; empty for a success
	Reason dibs.Reason

	Replayed  bool
	Names     []Seen // the names of the command, or of an entity
	Outcome   dibs.ResolveOutcome
	Entity    int // the owner of a name
	Available bool
	Archived  bool
	Version   uint64 // zero if the answer has none

	At millis // when, by the machine's clock
}

// Seen is a name as an answer shows it.
type Seen struct {
	Name   int
	State  dibs.State
	Status dibs.Status
	Epoch  uint64
	Entity int
	Ends   millis // of a hold; zero otherwise
}

// like reports whether two answers are equal except for dates and versions, of which the
// model knows only bounds.
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

// String formats an Answer for a history.
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
