package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

// part is the name of the part of the page that a run writes.
const part = "mutation"

// kinds are the kinds of changes, by the first word of their descriptions; those that flip an
// operator have none.
var kinds = []struct{ word, name string }{
	{"negate", "negate a condition"},
	{"", "flip a comparison or a connective"},
	{"empty", "empty a case of a switch"},
	{"leave", "leave out a call or an assignment"},
}

// kindOf returns the index of a change's kind.
func kindOf(m mutant) int {
	flip := 0
	for i, k := range kinds {
		switch {
		case k.word == "":
			flip = i
		case strings.HasPrefix(m.what, k.word+" "):
			return i
		}
	}
	return flip
}

// counts are how many changes there are, and what became of them.
type counts struct{ tried, found, equivalent int }

// summary is what became of all changes.
type summary struct {
	byKind  []counts       // as kinds
	byClass map[string]int // the equivalent ones
	missed  []mutant       // not found, and not listed
	stale   []mutant       // found, though listed
}

func sumUp(mutants []mutant, survivors map[mutant]bool, list equivalents) summary {
	sum := summary{byKind: make([]counts, len(kinds)), byClass: make(map[string]int)}
	for _, m := range mutants {
		class, listed := list.classOf[m.String()]
		of := &sum.byKind[kindOf(m)]
		of.tried++
		switch survived := survivors[m]; {
		case survived && listed:
			of.equivalent++
			sum.byClass[class]++
		case survived:
			sum.missed = append(sum.missed, m)
		case listed:
			sum.stale = append(sum.stale, m)
		default:
			of.found++
		}
	}
	return sum
}

// all returns the counts of all kinds together.
func (s summary) all() (all counts) {
	for _, c := range s.byKind {
		all.tried += c.tried
		all.found += c.found
		all.equivalent += c.equivalent
	}
	return all
}

// wrong returns how many changes are not as the list says.
func (s summary) wrong() int { return len(s.missed) + len(s.stale) }

func (s summary) print(out io.Writer, took time.Duration) {
	for _, m := range s.missed {
		fmt.Fprintf(out, "not found: %s (line %d)\n", m, m.line)
	}
	for _, m := range s.stale {
		fmt.Fprintf(out, "found, though listed as equivalent: %s (line %d)\n", m, m.line)
	}
	all := s.all()
	fmt.Fprintf(out, "%d changes in %s: %d were found, %d are equivalent, %d were not found, %d are listed and were found\n",
		all.tried, took.Round(time.Second), all.found, all.equivalent, len(s.missed), len(s.stale))
}

// tell tells the figures of a complete run, which make proof keeps.
func (s summary) tell(out io.Writer) {
	all := s.all()
	fmt.Fprintf(out, "figure: changes tried = %d\nfigure: found = %d\nfigure: equivalent = %d\n", all.tried, all.found, all.equivalent)
}

// writeTo writes the figures into a page.
func (s summary) writeTo(page string, list equivalents) error {
	return figures.FillFile(page, part, s.tables(list))
}

func (s summary) tables(list equivalents) string {
	var out strings.Builder
	row := func(name string, c counts) {
		fmt.Fprintf(&out, "| %s | %d | %d | %d |\n", name, c.tried, c.found, c.equivalent)
	}
	out.WriteString("| change | tried | found | equivalent |\n|---|---|---|---|\n")
	for i, k := range kinds {
		row(k.name, s.byKind[i])
	}
	row("all", s.all())
	out.WriteString("\n| why a change is equivalent | changes |\n|---|---|\n")
	for _, class := range list.classes {
		fmt.Fprintf(&out, "| %s | %d |\n", class, s.byClass[class])
	}
	return out.String()
}
