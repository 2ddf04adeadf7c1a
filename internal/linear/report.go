package linear

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is the result of a campaign.
type Report struct {
	Histories   int
	Disturbed   int // histories during which a fault was injected
	Operations  int
	Unavailable int // operations that returned UNAVAILABLE
	Unknown     int // operations with an unknown outcome
	Ended       Outcomes
	Faults      map[string]int
	Violations  []Violation
	Took        time.Duration
}

// Outcomes counts how commands with an unknown outcome ended, by what callers saw later.
type Outcomes struct {
	Happened int // the later answers are only possible if the command happened
	Not      int // … only if it did not happen
	Unclear  int // both is possible: for example the command would have been refused
}

func (o *Outcomes) add(other Outcomes) {
	o.Happened += other.Happened
	o.Not += other.Not
	o.Unclear += other.Unclear
}

// Violation is a history that is not possible if commands happen one at a time, or during
// which something else went wrong.
type Violation struct {
	Seed     uint64
	What     string
	Recorded int      // how many operations the history has
	Shortest []string // the operations that still show the violation, in the order of their calls
	Picture  string   // the file with the picture of these; empty if there is none
}

// String formats a violation for people.
func (v Violation) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d: %s", v.Seed, v.What)
	for _, line := range v.Shortest {
		text.WriteString("\n  " + line)
	}
	if v.Picture != "" {
		text.WriteString("\n  picture: " + v.Picture)
	}
	return text.String()
}

// String formats all figures in one line.
func (r Report) String() string {
	return fmt.Sprintf("%d histories, %d with faults; %d operations, and %d unavailable; %d with an unknown outcome; faults %v; %v",
		r.Histories, r.Disturbed, r.Operations, r.Unavailable, r.Unknown, r.Faults, r.Took.Round(time.Millisecond))
}

// Add adds the figures of another campaign.
func (r *Report) Add(other Report) {
	r.Histories += other.Histories
	r.Disturbed += other.Disturbed
	r.Operations += other.Operations
	r.Unavailable += other.Unavailable
	r.Unknown += other.Unknown
	r.Ended.add(other.Ended)
	r.Took += other.Took
	r.Violations = append(slices.Clip(r.Violations), other.Violations...)
	faults := make(map[string]int)
	for _, counts := range []map[string]int{r.Faults, other.Faults} {
		for name, n := range counts {
			faults[name] += n
		}
	}
	r.Faults = faults
}

func (r Report) clone() Report {
	r.Faults, r.Violations = maps.Clone(r.Faults), slices.Clone(r.Violations)
	return r
}
