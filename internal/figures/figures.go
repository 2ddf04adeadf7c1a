// Package figures has what the benchmarks measured and the long tests did, as the files in bench/
// store it. The charts, the generated parts of pages and the model of docs/scale.md are made from it.
package figures

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Run is one run of the benchmarks. It does not name the machine: its absolute figures are an
// example, and cannot be compared with those of another one.
type Run struct {
	Date       string `json:"date"`
	Go         string `json:"go"`
	PostgreSQL string `json:"postgresql"`
	Cores      int    `json:"cores"`
	// Others is the share of the processors that other programs used meanwhile. Where it is
	// large, rates and their ratios mean little, and processor times still do.
	Others  float64  `json:"others"`
	Rounds  int      `json:"rounds"`
	Seconds float64  `json:"seconds"`         // of a round
	Names   int      `json:"names,omitempty"` // of a run of make growth
	Results []Result `json:"results"`
	Curves  []Curve  `json:"curves,omitempty"`
}

// Result is a figure, compared with that of a peer or with a goal.
type Result struct {
	Goal    string   `json:"goal"`
	What    string   `json:"what"`
	Unit    Unit     `json:"unit"`
	Ours    Rounds   `json:"ours"`
	Against string   `json:"against,omitempty"` // what the peer is
	Lacks   string   `json:"lacks,omitempty"`   // what a user gives up with the peer
	Peer    *Rounds  `json:"peer,omitempty"`
	Ratio   *float64 `json:"ratio,omitempty"`
	Target  string   `json:"target,omitempty"`
	Met     *bool    `json:"met,omitempty"`
}

// Rounds are the figures of one side.
type Rounds struct {
	Median float64 `json:"median"`
	Rounds Sample  `json:"rounds"`
	// ProcessorMicros is the processor time of each call in microseconds, of the program and of
	// the engine's processes together; the median of the rounds. Zero means unknown.
	ProcessorMicros float64 `json:"processorMicros,omitempty"`
}

// Curve is a figure that depends on another one, such as the rate on the number of callers.
type Curve struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	X     string `json:"x"`
	Y     string `json:"y"`
	Lines []Line `json:"lines"`
}

// The lines of the curves.
const (
	OnPostgres = "Dibs on PostgreSQL"
	OnSQLite   = "Dibs on SQLite"
	Bare       = "bare on PostgreSQL"
)

// Line is one side of a curve.
type Line struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// Point is a measured point of a line.
type Point struct {
	X               float64 `json:"x"`
	Y               float64 `json:"y"`
	ProcessorMicros float64 `json:"processorMicros,omitempty"` // of each call, as in [Rounds]
}

// Curve returns the curve with this ID, or an empty one.
func (r Run) Curve(id string) Curve {
	if i := slices.IndexFunc(r.Curves, func(c Curve) bool { return c.ID == id }); i >= 0 {
		return r.Curves[i]
	}
	return Curve{}
}

// Line returns the line with this name, or an empty one.
func (c Curve) Line(name string) Line {
	if i := slices.IndexFunc(c.Lines, func(l Line) bool { return l.Name == name }); i >= 0 {
		return c.Lines[i]
	}
	return Line{}
}

// At returns the point of a line at x.
func (l Line) At(x float64) (Point, bool) {
	i := slices.IndexFunc(l.Points, func(p Point) bool { return p.X == x })
	if i < 0 {
		return Point{}, false
	}
	return l.Points[i], true
}

// Read reads a file of figures.
func Read(path string) (run Run, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Run{}, err
	}
	if err := json.Unmarshal(text, &run); err != nil {
		return Run{}, fmt.Errorf("%s: %w", path, err)
	}
	return run, nil
}

// Merge puts the results and curves of another run in the place of those that the run has of the same goals, and new ones at the
// end.
func (r *Run) Merge(other Run) {
	var all []Result
	done := make(map[string]bool)
	for _, result := range slices.Concat(r.Results, other.Results) {
		renewed := slices.DeleteFunc(slices.Clone(other.Results), func(o Result) bool { return o.Goal != result.Goal })
		switch {
		case len(renewed) == 0:
			all = append(all, result)
		case !done[result.Goal]:
			done[result.Goal] = true
			all = append(all, renewed...)
		}
	}
	r.Results = all
	for _, curve := range other.Curves {
		if i := slices.IndexFunc(r.Curves, func(c Curve) bool { return c.ID == curve.ID }); i >= 0 {
			r.Curves[i] = curve
		} else {
			r.Curves = append(r.Curves, curve)
		}
	}
}

// Write writes the figures into a file.
func (r Run) Write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
