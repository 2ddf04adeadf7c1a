package main

import (
	"encoding/json"
	"strings"

	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/torture"
)

// read returns the figures in the output of a command.
func read(output string) (found []figures.Figure) {
	var report torture.Report
	if at := strings.Index(output, "{"); at >= 0 && json.Unmarshal([]byte(output[at:]), &report) == nil && report.Engine != "" {
		return ofTorture(report)
	}
	for line := range strings.Lines(output) {
		if f, ok := figures.ParseFigure(line); ok {
			found = append(found, f)
		}
	}
	return found
}

// ofTorture returns the figures of a report of dibs torture.
func ofTorture(r torture.Report) (found []figures.Figure) {
	add := func(what string, value int) {
		found = append(found, figures.Figure{What: what, Value: float64(value)})
	}
	add("histories", r.Histories)
	add("operations", r.Operations)
	add("unavailable", r.Unavailable)
	add("unknown outcomes", r.Unknown.Operations)
	add("events compared", r.Audit.Events)
	add("acknowledged changes found", r.Audit.Changes)
	add("violations", len(r.Violations))
	for _, f := range r.Faults {
		add(figures.FaultTimes+f.Fault, f.Count)
		found = append(found, figures.Figure{What: figures.FaultService + f.Fault, Value: f.MaxMs, Most: true})
	}
	if d := r.Damaged; d != nil {
		add("damaged copies", d.Copies)
		add("damaged copies refused", d.Refused)
		add("damaged copies with the damage named", d.Named)
		add("damaged copies without the last commits", d.Older)
		add("damaged copies without a record", d.Lacking)
		add("damaged copies unharmed", d.Unharmed)
	}
	return found
}
