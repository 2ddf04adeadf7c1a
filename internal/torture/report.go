package torture

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/calldibs/dibs/internal/linear"
)

// Report is the result of a run.
type Report struct {
	OK          bool          `json:"ok"`
	Engine      string        `json:"engine"`
	Servers     int           `json:"servers"`
	Callers     int           `json:"callers"`
	Seed        uint64        `json:"seed"`
	Scope       string        `json:"scope,omitempty"` // of the names that stay in a store of the user's
	Seconds     float64       `json:"seconds"`
	Histories   int           `json:"histories"`
	Disturbed   int           `json:"disturbed"` // histories during which a fault was active
	Operations  int           `json:"operations"`
	Unavailable int           `json:"unavailable"` // other operations, answered UNAVAILABLE: none of them happened
	Unknown     Unknown       `json:"unknown"`
	Faults      []FaultReport `json:"faults"`
	LeftOut     []string      `json:"leftOut,omitempty"` // faults that cannot happen on this machine, and why
	NoTime      []string      `json:"noTime,omitempty"`  // faults for which the run was too short
	Interrupted bool          `json:"interrupted,omitempty"`
	NotReached  []string      `json:"notReached,omitempty"` // wanted numbers that it did not reach before it ended
	Audit       Audit         `json:"audit"`
	Damaged     *Damaged      `json:"damaged,omitempty"`
	Violations  []Violation   `json:"violations"`
	Folder      string        `json:"folder,omitempty"` // logs and pictures, if they stay
}

// Unknown counts the operations with an unknown outcome, and how they ended by what callers saw
// later.
type Unknown struct {
	Operations int `json:"operations"`
	Happened   int `json:"happened"`
	Not        int `json:"didNotHappen"`
	NoTrace    int `json:"noTrace"` // they may have happened or not: nothing depends on it
}

// FaultReport counts a fault, and how long service took to come back after its cause was gone.
type FaultReport struct {
	Fault    string  `json:"fault"`
	About    string  `json:"about"`
	Count    int     `json:"count"`
	MedianMs float64 `json:"serviceMedianMs"`
	MaxMs    float64 `json:"serviceMaxMs"`
}

// Audit counts what was compared.
type Audit struct {
	Events   int `json:"events"`   // of the feed, by pages and by the stream of each server
	Names    int `json:"names"`    // history, feed and state
	Entities int `json:"entities"` // their names
	Changes  int `json:"changes"`  // acknowledged ones, found in the feed
	Again    int `json:"again"`    // names of earlier rounds, which must be as they were
}

// Violation is something that must not happen.
type Violation struct {
	Kind       string   `json:"kind"` // "history", "audit", "service", "damage", "witness" or "server"
	What       string   `json:"what"`
	Operations []string `json:"operations,omitempty"` // of a history: the shortest that shows it
	Picture    string   `json:"picture,omitempty"`    // the file that shows them
}

func (t *run) report(interrupted bool) Report {
	r := Report{
		Engine: t.engine.about, Servers: t.Servers, Callers: t.Callers, Seed: t.Seed, Seconds: time.Since(t.began).Seconds(),
		Histories: t.sum.Histories, Disturbed: t.sum.Disturbed, Operations: t.sum.Operations, Unavailable: t.sum.Unavailable,
		Unknown: Unknown{t.sum.Unknown, t.sum.Ended.Happened, t.sum.Ended.Not, t.sum.Ended.Unclear},
		Faults:  []FaultReport{}, Violations: []Violation{}, Audit: t.audited, Interrupted: interrupted,
	}
	if !t.isPrivate() {
		r.Scope = t.scope
	}
	if t.damaged.Copies > 0 {
		r.Damaged = &t.damaged
	}
	for _, l := range t.engine.leftOut {
		if t.Faults == nil {
			r.LeftOut = append(r.LeftOut, l.String())
		}
	}
	for _, f := range t.faults {
		times := t.service[f.Name]
		if len(times) == 0 {
			r.NoTime = append(r.NoTime, f.Name)
		} else {
			slices.Sort(times)
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
			r.Faults = append(r.Faults, FaultReport{f.Name, f.About, len(times), ms(times[len(times)/2]), ms(times[len(times)-1])})
		}
	}
	for _, v := range t.sum.Violations {
		r.Violations = append(r.Violations, ofHistory(v))
	}
	r.Violations = append(r.Violations, t.wrong...)
	if r.OK = len(r.Violations) == 0; !r.OK || t.keeps {
		r.Folder = t.Folder
	}
	if r.OK {
		r.NotReached = t.notReached()
	}
	return r
}

// notReached returns the wanted numbers that the run did not reach. Either of them ends a run.
func (t *run) notReached() (missed []string) {
	if t.Histories > 0 && t.sum.Histories >= t.Histories || t.eachHappened(t.faults) {
		return nil
	}
	if t.Histories > 0 {
		missed = append(missed, fmt.Sprintf("%d of %d histories", t.sum.Histories, t.Histories))
	}
	for _, f := range t.faults {
		if n := len(t.service[f.Name]); n < t.Each {
			missed = append(missed, fmt.Sprintf("%s %d of %d times", f.Name, n, t.Each))
		}
	}
	return missed
}

// proves returns an error if nothing happened in a run that is right: it proves nothing.
func (r Report) proves(most time.Duration) error {
	switch {
	case !r.OK || r.Operations > 0 && r.Audit.Changes > 0:
		return nil
	case r.Interrupted:
		return fmt.Errorf("%w before anything was tried: nothing is proven", ErrInterrupted)
	case most > 0:
		return fmt.Errorf("%w: no change was acknowledged in %v, so nothing is proven; let it run longer, with --for", ErrTooShort, most)
	default:
		return errors.New("no change was acknowledged, so nothing is proven")
	}
}

func ofHistory(v linear.Violation) Violation {
	return Violation{Kind: "history", What: fmt.Sprintf("seed %d: %s", v.Seed, v.What), Operations: v.Shortest, Picture: v.Picture}
}
