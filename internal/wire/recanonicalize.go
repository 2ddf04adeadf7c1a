package wire

import "github.com/calldibs/dibs"

// Recanonicalization reports how new rules change the names of a namespace.
type Recanonicalization struct {
	Namespace string         `json:"namespace"`
	From      string         `json:"from,omitempty" doc:"The rules before; absent if none are recorded." example:"exact/1"`
	To        string         `json:"to" doc:"The rules of the policy." example:"slug/1"`
	Looked    int            `json:"looked" doc:"Names that are owned, held or suspect."`
	Done      int            `json:"done" doc:"Names changed to the new rules."`
	Counts    map[string]int `json:"counts" nullable:"false" doc:"The number of names by kind of finding."`
	Findings  []Finding      `json:"findings" nullable:"false" doc:"The first 1,000 names of each kind."`
}

// Finding is how new rules change one name.
type Finding struct {
	Kind string `json:"kind" enum:"change,merge,collision,invalid,look_alike,unfiled"`
	Name Name   `json:"name"`
	To   string `json:"to,omitempty" doc:"The new canonical form."`
	With *Name  `json:"with,omitempty" doc:"The other name of a merge, a collision or a look-alike."`
	Why  string `json:"why,omitempty" doc:"What is not valid."`
}

// RecanonicalizationOf converts a report.
func RecanonicalizationOf(r dibs.Recanonicalization) Recanonicalization {
	w := Recanonicalization{
		Namespace: r.Namespace, From: r.From, To: r.To, Looked: r.Looked, Done: r.Done,
		Counts: make(map[string]int, len(r.Counts)), Findings: ListOf(r.Findings, findingOf),
	}
	for kind, n := range r.Counts {
		w.Counts[string(kind)] = n
	}
	return w
}

func findingOf(f dibs.Finding) Finding {
	return Finding{Kind: string(f.Kind), Name: NameOf(f.Name), To: f.To, With: optionalName(f.With), Why: f.Why}
}

// Recanonicalization returns the library's report.
func (r Recanonicalization) Recanonicalization() (dibs.Recanonicalization, error) {
	v := dibs.Recanonicalization{
		Namespace: r.Namespace, From: r.From, To: r.To, Looked: r.Looked, Done: r.Done,
		Counts: make(map[dibs.FindingKind]int, len(r.Counts)),
	}
	for kind, n := range r.Counts {
		v.Counts[dibs.FindingKind(kind)] = n
	}
	var err error
	v.Findings, err = listFrom(r.Findings, Finding.finding)
	return v, err
}

func (f Finding) finding() (dibs.Finding, error) {
	name, err := f.Name.Name()
	if err != nil {
		return dibs.Finding{}, err
	}
	with, err := f.With.optional()
	return dibs.Finding{Kind: dibs.FindingKind(f.Kind), Name: name, To: f.To, With: with, Why: f.Why}, err
}
