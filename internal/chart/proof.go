package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

// proofTable has a line for each long test, with what it did.
func proofTable(p figures.Proof) string {
	if len(p.Runs) == 0 {
		return "`make proof` has not run yet.\n"
	}
	t := new(table)
	t.head("run", "result", "took", "figures", "when and where")
	for _, r := range p.Runs {
		var texts []string
		for _, f := range r.Figures {
			if _, ok := faultOf(f); ok {
				continue // in the table of faults
			}
			most := ""
			if f.Most {
				most = "at most "
			}
			texts = append(texts, most+figures.Thousands(f.Value)+" "+f.What)
		}
		result := "passed"
		if !r.OK {
			result = "**failed**"
		}
		t.row(r.Name, result, took(r.Seconds), strings.Join(texts, ", "), fmt.Sprintf("%s, commit %s; %s", r.Date, r.Commit, r.Machine))
	}
	return t.String()
}

func took(seconds float64) string {
	return (time.Duration(seconds) * time.Second).String()
}

// faultOf returns the fault whose figure this is.
func faultOf(f figures.Figure) (fault string, ok bool) {
	if fault, ok = strings.CutPrefix(f.What, figures.FaultTimes); !ok {
		fault, ok = strings.CutPrefix(f.What, figures.FaultService)
	}
	return fault, ok
}

// faultTable has a line for each fault of torture, with a column for each engine.
func faultTable(p figures.Proof) string {
	var runs []figures.ProofRun // with faults
	var faults []string
	for _, r := range p.Runs {
		found := false
		for _, f := range r.Figures {
			if fault, ok := faultOf(f); ok {
				found = true
				if !slices.Contains(faults, fault) {
					faults = append(faults, fault)
				}
			}
		}
		if found {
			runs = append(runs, r)
		}
	}
	if len(runs) == 0 {
		return "`make proof` has not run yet.\n"
	}
	t := new(table)
	head := []string{"fault"}
	for _, r := range runs {
		head = append(head, strings.TrimPrefix(r.Name, "torture ")+": times", "service after at most")
	}
	t.head(head...)
	for _, fault := range faults {
		row := []string{fault}
		for _, r := range runs {
			times, service := "–", "–"
			if n := r.Figure(figures.FaultTimes + fault); n > 0 {
				times, service = figures.Thousands(n), fmt.Sprintf("%.2f s", r.Figure(figures.FaultService+fault)/1000)
			}
			row = append(row, times, service)
		}
		t.row(row...)
	}
	return t.String()
}

// fuzzTable has a line for each fuzz target, with what all of its runs did.
func fuzzTable(p figures.Proof) string {
	if len(p.Fuzz) == 0 {
		return "`make proof-fuzz` has not run yet.\n"
	}
	t := new(table)
	t.head("package", "target", "seconds", "inputs tried", "new inputs", "findings", "last run")
	for _, f := range p.Fuzz {
		t.row("`"+f.Package+"`", "`"+f.Name+"`", figures.Thousands(f.Seconds), figures.Thousands(float64(f.Inputs)),
			figures.Thousands(float64(f.New)), figures.Thousands(float64(f.Findings)), fmt.Sprintf("%s, commit %s", f.Date, f.Commit))
	}
	return t.String()
}
