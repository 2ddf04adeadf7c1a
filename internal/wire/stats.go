package wire

import (
	"time"

	"github.com/calldibs/dibs"
)

// Stats counts names.
type Stats struct {
	Names      []NameCount `json:"names" nullable:"false" doc:"The number of names by namespace and state."`
	EndingSoon int         `json:"endingSoon" doc:"Holds that end within a minute."`
	Suspects   int         `json:"suspects" doc:"Holds that wait for a witness."`
	TakenAt    string      `json:"takenAt,omitempty" format:"date-time" doc:"When they were counted."`
}

// NameCount is the number of names of a namespace in a state.
type NameCount struct {
	Namespace string `json:"namespace"`
	State     string `json:"state" enum:"held,suspect,active,alias,quarantined"`
	Count     int    `json:"count"`
}

// StatsOf converts counts that were taken at a moment.
func StatsOf(s dibs.Stats, taken time.Time) Stats {
	w := Stats{Names: make([]NameCount, len(s.Names)), EndingSoon: s.EndingSoon, TakenAt: FormatTime(taken)}
	for i, c := range s.Names {
		w.Names[i] = NameCount{c.Namespace, string(c.State), c.Count}
		if c.State == dibs.Suspect {
			w.Suspects += c.Count
		}
	}
	return w
}

// Stats returns the library's counts.
func (s Stats) Stats() dibs.Stats {
	v := dibs.Stats{EndingSoon: s.EndingSoon}
	for _, c := range s.Names {
		v.Names = append(v.Names, dibs.NameCount{Namespace: c.Namespace, State: dibs.State(c.State), Count: c.Count})
	}
	return v
}
