package linear

import (
	"fmt"
	"strings"
	"time"
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

// Op is a request of one caller, and its time.
type Op struct {
	Verb   Verb
	Name   int
	Other  int // the second name of a ReserveBoth or Swap
	Entity int
	To     int // the second entity of a Transfer or Swap
	Token  int
	TTL    time.Duration

	Asked millis // by the machine's clock, for rules that depend on time
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
