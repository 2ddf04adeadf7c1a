//go:build unix

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/workload"
	names "github.com/calldibs/dibs/profile"
)

// filled says how far an estate is filled. It is stored after each part of the load.
type filled struct {
	Small int    `json:"small"` // names of the small store
	Names int    `json:"names"` // of the big one
	Rare  bool   `json:"rare"`  // the big store has names in rare states
	Parts []part `json:"parts"` // how the load of the big one went
}

type part struct {
	Names           int     `json:"names"` // when it was done
	PerSecond       float64 `json:"perSecond"`
	ProcessorMicros float64 `json:"processorMicros"`
}

func (e *estate) filled(l *lab) (f filled) {
	l.Helper()
	text, err := os.ReadFile(e.kept)
	if errors.Is(err, fs.ErrNotExist) {
		return filled{}
	}
	l.must(err)
	l.must(json.Unmarshal(text, &f))
	return f
}

func (e *estate) keep(l *lab, f filled) {
	l.Helper()
	text, err := json.Marshal(f)
	l.must(err)
	l.must(os.WriteFile(e.kept+".new", text, 0o600))
	l.must(os.Rename(e.kept+".new", e.kept))
}

// fill claims names until the estate has as many as the lab wants, from where it stopped.
func (e *estate) fill(l *lab) filled {
	l.Helper()
	f := e.filled(l)
	if small := max(l.names/smallShare, 1); f.Small < small {
		r := e.openAt(l, e.small, dibs.Config{})
		l.must(workload.LoadMore(l.Context(), r.Registry, loading, f.Small, small))
		r.close()
		f.Small = small
		e.keep(l, f)
	}
	if f.Names < l.names {
		e.fillBig(l, &f)
	}
	if f.Names > l.names {
		l.Fatalf("%s has %d names, more than %d: choose another folder", e.big, f.Names, l.names)
	}
	if !f.Rare {
		e.addRareStates(l)
		f.Rare = true
		e.keep(l, f)
	}
	return f
}

var loading = workload.Config{Namespace: namespace, Callers: manyCallers}

// fillBig loads in parts, and notes how fast each went.
func (e *estate) fillBig(l *lab, f *filled) {
	l.Helper()
	r := e.openAt(l, e.big, dibs.Config{})
	defer r.close()
	for told := time.Now(); f.Names < l.names; {
		size := min(max(f.Names/10, 2000), 100_000, l.names-f.Names)
		begin := time.Now()
		processor := l.metered(r, func() int {
			l.must(workload.LoadMore(l.Context(), r.Registry, loading, f.Names, f.Names+size))
			return size
		})
		f.Names += size
		f.Parts = append(f.Parts, part{f.Names, float64(size) / time.Since(begin).Seconds(), processor})
		e.keep(l, *f)
		if time.Since(told) > 20*time.Second || f.Names == l.names {
			told = time.Now()
			fmt.Printf("%s: %s of %s names, %s\n", e.engine, figures.Thousands(float64(f.Names)), figures.Thousands(float64(l.names)),
				figures.PerSecond.Format(f.Parts[len(f.Parts)-1].PerSecond))
		}
	}
}

// rareNames is how many names at most get each rare state: few beside millions, so that a list
// of them must not read the others.
const rareNames = 200

// addRareStates makes names that are held, aliases and quarantined.
func (e *estate) addRareStates(l *lab) {
	l.Helper()
	policies := names.Policies()
	policy := policies[namespace]
	policy.Quarantine = 365 * 24 * time.Hour
	policies[namespace] = policy
	r := e.openAt(l, e.big, dibs.Config{Policies: policies})
	defer r.close()
	ctx := l.Context()
	for i := range min(rareNames, l.names/100) {
		_, err := r.Reserve(ctx, dibs.Reserve{Namespace: namespace, Value: fmt.Sprintf("rare-held-%d", i), TTL: dibs.For(24 * time.Hour)})
		l.must(err)
		alias := dibs.Entity{Type: "rare", ID: fmt.Sprintf("alias-%d", i)}
		_, err = r.Claim(ctx, dibs.Claim{Namespace: namespace, Value: fmt.Sprintf("rare-old-%d", i), Entity: alias})
		l.must(err)
		_, err = r.Rename(ctx, dibs.Rename{Namespace: namespace, Value: fmt.Sprintf("rare-new-%d", i), Entity: alias})
		l.must(err)
		gone := dibs.Entity{Type: "rare", ID: fmt.Sprintf("gone-%d", i)}
		value := fmt.Sprintf("rare-gone-%d", i)
		_, err = r.Claim(ctx, dibs.Claim{Namespace: namespace, Value: value, Entity: gone})
		l.must(err)
		_, err = r.Decommission(ctx, dibs.Decommission{Namespace: namespace, Value: value, Entity: gone})
		l.must(err)
	}
}

// milestones are where the rate of the load is shown, up to so many names.
func milestones(names int) (stones []int) {
	for _, n := range []int{1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000} {
		if n >= names/smallShare && n < names {
			stones = append(stones, n)
		}
	}
	return append(stones, names)
}

// rateByNames is the curve of the load: at each milestone the median of the parts since half
// as many names.
func rateByNames(names int, lines map[string]filled, order []string) figures.Curve {
	c := figures.Curve{ID: "names", Title: "Claims a second by the number of names", X: "names in the store", Y: "claims a second"}
	for _, name := range order {
		line := figures.Line{Name: name}
		for _, stone := range milestones(names) {
			var rates, processor sample
			for _, p := range lines[name].Parts {
				if p.Names > stone/2 && p.Names <= stone {
					rates, processor = append(rates, p.PerSecond), append(processor, p.ProcessorMicros)
				}
			}
			if len(rates) > 0 {
				line.Points = append(line.Points, figures.Point{X: float64(stone), Y: rates.Median(), ProcessorMicros: processor.Median()})
			}
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}
