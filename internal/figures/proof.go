package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Proof is what the long tests of make proof did, as bench/proof.json stores it: the latest run of each.
type Proof struct {
	Runs []ProofRun   `json:"runs"`
	Fuzz []FuzzTarget `json:"fuzz"` // by package and name
}

// ProofRun is a run of one of the long tests, or the sum of its parts at one commit.
type ProofRun struct {
	Name    string   `json:"name"`
	Date    string   `json:"date"`
	Commit  string   `json:"commit"`
	Machine string   `json:"machine"`
	Seconds float64  `json:"seconds"`
	OK      bool     `json:"ok"`
	Figures []Figure `json:"figures"`
}

// Figure is a number that a long test has counted or measured.
type Figure struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Most  bool    `json:"most,omitempty"` // the largest of all parts, not their sum
}

// The figures of a fault have its name after these words: how often it happened, and the longest time until service was back.
const (
	FaultTimes   = "fault "
	FaultService = "ms after "
)

// figureLine is how a test tells a figure: "figure: histories = 1000" is summed, and of
// "figure: ms until service <= 1200" the largest counts.
var figureLine = regexp.MustCompile(`figure: (.+?) (=|<=) ([0-9.]+)\s*$`)

// ParseFigure returns the figure in a line of a test's output.
func ParseFigure(line string) (f Figure, ok bool) {
	found := figureLine.FindStringSubmatch(line)
	if found == nil {
		return Figure{}, false
	}
	value, err := strconv.ParseFloat(found[3], 64)
	return Figure{What: found[1], Value: value, Most: found[2] == "<="}, err == nil
}

// Add adds a figure to those of the run.
func (r *ProofRun) Add(f Figure) {
	i := slices.IndexFunc(r.Figures, func(known Figure) bool { return known.What == f.What && known.Most == f.Most })
	switch {
	case i < 0:
		r.Figures = append(r.Figures, f)
	case f.Most:
		r.Figures[i].Value = max(r.Figures[i].Value, f.Value)
	default:
		r.Figures[i].Value += f.Value
	}
}

// Figure returns the value of a figure; zero if the run has none.
func (r ProofRun) Figure(what string) float64 {
	for _, f := range r.Figures {
		if f.What == what {
			return f.Value
		}
	}
	return 0
}

// Run returns the run with this name, or an empty one.
func (p Proof) Run(name string) ProofRun {
	for _, r := range p.Runs {
		if r.Name == name {
			return r
		}
	}
	return ProofRun{Name: name}
}

// Merge adds a part to the run with its name, or replaces that of another commit.
func (p *Proof) Merge(part ProofRun) {
	i := slices.IndexFunc(p.Runs, func(r ProofRun) bool { return r.Name == part.Name })
	if i < 0 {
		p.Runs = append(p.Runs, part)
		slices.SortFunc(p.Runs, func(a, b ProofRun) int { return strings.Compare(a.Name, b.Name) })
		return
	}
	run := &p.Runs[i]
	if run.Commit != part.Commit {
		*run = part
		return
	}
	run.Date, run.Machine = part.Date, part.Machine
	run.Seconds += part.Seconds
	run.OK = run.OK && part.OK
	for _, f := range part.Figures {
		run.Add(f)
	}
}

// UpdateProof changes a file of the long tests. Several processes may do so at once.
func UpdateProof(path string, change func(*Proof)) error {
	unlock, err := Lock(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	p, err := ReadProof(path)
	if err != nil {
		return err
	}
	change(&p)
	return p.write(path)
}

// ReadProof reads a file of the long tests. A missing file is an empty one.
func ReadProof(path string) (p Proof, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Proof{Runs: []ProofRun{}, Fuzz: []FuzzTarget{}}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return Proof{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// write replaces the file, so that a reader never sees a part of it.
func (p Proof) write(path string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
