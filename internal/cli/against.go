package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsimport"
	"github.com/calldibs/dibs/internal/engine"
)

// runAgainst compares the registry with a source.
func (v *verifying) runAgainst(ctx context.Context) (_ *answer, err error) {
	if err := v.setSource(); err != nil {
		return nil, err
	}
	target, err := v.session.target()
	if err != nil {
		return nil, err
	}
	registry, err := v.session.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	defer v.session.close(registry, &err)
	comparison, err := v.compare(ctx, registry)
	v.progress.end()
	if _, unclear := errors.AsType[*dibsimport.MappingError](err); unclear {
		return nil, usage("%w: name them with flags, see dibs verify --help", err)
	}
	if err != nil {
		return nil, fmt.Errorf("could not compare: %w", err)
	}
	defer comparison.Close()
	if v.fix {
		return v.fixed(ctx, registry, comparison)
	}
	return v.compared(comparison)
}

// setSource reads --against: a file, stdin, or a database.
func (v *verifying) setSource() error {
	if v.yes && !v.fix {
		return usage("--yes is for --fix")
	}
	v.source.options.OnConflict = dibsimport.First
	if isFile(v.against) {
		v.source.file = v.against
	} else {
		v.source.from = v.against
	}
	if v.source.file == "-" && v.fix && !v.yes {
		return usage("--against - reads stdin, which the question of --fix needs: add --yes")
	}
	if v.source.from != "" && v.source.query == "" {
		return usage("--against %s needs a --query, or is a file that does not exist", engine.Redacted(v.against))
	}
	return v.source.check()
}

func (v *verifying) compare(ctx context.Context, registry *dibs.Registry) (*dibsimport.Comparison, error) {
	if v.source.file == "-" {
		remove, err := v.source.keepStdin()
		if err != nil {
			return nil, err
		}
		defer remove()
	}
	source, size, closeSource, err := v.source.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = closeSource() }()
	v.progress.begin(v.session, "comparing", size)
	return dibsimport.Compare(ctx, registry, source, dibsimport.CompareOptions{
		Mapping: v.source.options.Mapping, Pause: v.limiter(),
		Found:    func(d dibsimport.Difference) error { return v.differs(ctx, registry, d) },
		Progress: func(c *dibsimport.Comparison) { v.progress.show(c.Rows+c.Names, "rows and names", c) },
	})
}

// compared sums a comparison up.
func (v *verifying) compared(c *dibsimport.Comparison) (*answer, error) {
	if c.Rows == 0 {
		return nil, usage("--against has no rows, so nothing was compared: did the export fail?")
	}
	var err error
	if c.Count() > 0 {
		err = exitError{ExitFindings}
	}
	if v.session.json {
		_ = v.source.event("done", c)
		return nil, err
	}
	return &answer{text: func(p *printer) {
		v.sum(p, c)
		if c.Importable+c.Differences[dibsimport.OtherArchived] > 0 {
			p.line("Nothing was changed. --fix imports what is missing; it changes no owner and gives up no name.")
		}
	}}, err
}

func (v *verifying) sum(p *printer, c *dibsimport.Comparison) {
	if v.shown > v.most {
		p.line("… and %s more: --show or --json shows them.", thousands(v.shown-v.most))
	}
	if v.shown > 0 {
		p.line("")
	}
	p.line("Compared %s with %s of the registry: %s the same.", count(c.Rows, "row", "rows"), count(c.Names, "name", "names"), thousands(c.Same))
	if c.Late > 0 {
		p.line("%s got into the registry meanwhile and were not compared.", count(c.Late, "name", "names"))
	}
	if c.Count() == 0 {
		fmt.Fprintln(p.out, p.paint.in(green, "All is well: no differences."))
		return
	}
	fmt.Fprintf(p.out, "%s: %s.\n", p.paint.in(red, count(c.Count(), "difference", "differences")), kindsText(c))
}

func kindsText(c *dibsimport.Comparison) string {
	var parts []string
	for _, kind := range dibsimport.DifferenceKinds {
		if n := c.Differences[kind]; n > 0 {
			parts = append(parts, thousands(n)+" "+kindText(kind))
		}
	}
	return strings.Join(parts, ", ")
}

func kindText(kind dibsimport.DifferenceKind) string {
	return strings.ReplaceAll(string(kind), "_", " ")
}

// fixed shows a plan, asks, and carries it out.
func (v *verifying) fixed(ctx context.Context, registry *dibs.Registry, c *dibsimport.Comparison) (*answer, error) {
	archived := c.Differences[dibsimport.OtherArchived]
	rest := c.Count() - c.Importable - archived
	if c.Importable+archived == 0 {
		return v.compared(c)
	}
	if !v.session.json {
		v.sum(v.session.printer(), c)
	}
	if !v.yes {
		if err := v.session.confirmed(planText(c.Importable, archived, rest)); err != nil {
			return nil, err
		}
	}
	v.progress.begin(v.session, "importing", nil)
	done, err := c.Fix(ctx, registry, dibsimport.Options{Progress: v.progress.tell})
	v.progress.end()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s imported; run the command again to go on", err, count(done.Imported, "name", "names"))
	}
	if left := rest + done.Lost; left > 0 {
		err = exitError{ExitFindings}
	}
	if v.session.json {
		_ = v.source.event("done", c)
		_ = v.source.event("fixed", done)
		return nil, err
	}
	return &answer{text: func(p *printer) {
		p.line("%s imported, %s archived, %s restored.", count(done.Imported, "name", "names"), count(done.Archived, "entity", "entities"), thousands(done.Restored))
		if done.Lost > 0 {
			p.line("%s could no longer be imported: run the command again.", count(done.Lost, "name", "names"))
		}
		if rest > 0 {
			p.line("%s left: see above for what settles each.", count(rest, "difference is", "differences are"))
		}
	}}, err
}

// planText says what a fix would do.
func planText(importable, archived, rest int) string {
	lines := []string{"", "The plan:"}
	if importable > 0 {
		lines = append(lines, "  import "+count(importable, "missing name", "missing names")+" for the owners that the source has")
	}
	if archived > 0 {
		lines = append(lines, "  archive or restore "+count(archived, "entity", "entities")+", as the source says")
	}
	if rest > 0 {
		lines = append(lines, "  leave "+count(rest, "other difference", "other differences")+" as they are: no owner is changed, and no name is given up")
	}
	return strings.Join(lines, "\n")
}
