package figures

import (
	"cmp"
	"slices"
)

// FuzzTarget is what all runs of a fuzz target did. Go keeps the inputs that reached new code, and a later run begins with
// them: so runs add up, also over changes to the code.
type FuzzTarget struct {
	Package  string  `json:"package"` // its folder, such as "internal/wire"
	Name     string  `json:"name"`
	Seconds  float64 `json:"seconds"`
	Inputs   int     `json:"inputs"` // that were tried
	New      int     `json:"new"`    // inputs that reached new code
	Findings int     `json:"findings"`
	Date     string  `json:"date"`   // of the last run
	Commit   string  `json:"commit"` // of the last run
}

// Target returns what a fuzz target did; nothing if it has not run.
func (p Proof) Target(pkg, name string) FuzzTarget {
	for _, t := range p.Fuzz {
		if t.Package == pkg && t.Name == name {
			return t
		}
	}
	return FuzzTarget{Package: pkg, Name: name}
}

// AddFuzz adds a run of a fuzz target to those before.
func (p *Proof) AddFuzz(run FuzzTarget) {
	i, known := slices.BinarySearchFunc(p.Fuzz, run, func(a, b FuzzTarget) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Name, b.Name))
	})
	if !known {
		p.Fuzz = slices.Insert(p.Fuzz, i, run)
		return
	}
	sum := &p.Fuzz[i]
	sum.Seconds += run.Seconds
	sum.Inputs += run.Inputs
	sum.New += run.New
	sum.Findings += run.Findings
	sum.Date, sum.Commit = run.Date, run.Commit
}
