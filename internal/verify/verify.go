// Package verify compares a store with itself. It reads everything that the store has as of one
// moment, and checks what the rules promise about it: see [Checks].
//
// It shares no code with the rules, so that a fault of theirs shows. Canonical forms and skeletons
// come from the policies in force.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/extsort"
	"github.com/calldibs/dibs/internal/snapshot"
)

// Moment is a store as of one moment, such as a [snapshot.View].
type Moment interface {
	Now() dibs.Instant
	Records(ctx context.Context, table snapshot.Table) iter.Seq2[dibs.Record, error]
	Events(ctx context.Context, after dibs.Cursor) iter.Seq2[dibs.Event, error]
}

// Counter is an optional interface of a Moment that knows how many names the engine counts.
type Counter interface {
	Counts(ctx context.Context) ([]dibs.NameCount, error)
}

// FileChecker is an optional interface of a Moment whose engine can check its own file.
type FileChecker interface {
	// CheckFile returns what is wrong with the file, in the engine's words.
	CheckFile(ctx context.Context) ([]string, error)
}

// Options are the options of [Store].
type Options struct {
	// Policies and Default are the policies in force.
	Policies map[string]dibs.Policy
	Default  dibs.Policy

	// Found is told of each finding. An error ends the run. Nil means that only the report counts.
	Found func(Finding) error
	// Progress is told how far the run is, after every thousand records. Nil means no one.
	Progress func(Progress)
	// Pause is called after every thousand records and events, to slow the run down. Nil means that
	// it runs as fast as it can.
	Pause func(ctx context.Context, n int) error
	// InPart reports whether records of a scope belong into this store. Nil means that all do.
	InPart func(scope string) bool
	// Slack is how much later a state has to end to count as not over: what ends about now may be over
	// in one record and not yet in another, if clocks differ. Zero means a minute, negative means none.
	Slack time.Duration
	// Sorter has the memory and the folder that the run may use. The zero value has defaults.
	Sorter extsort.Sorter
}

// Phase is a part of a run.
type Phase string

// The phases, in order.
const (
	CheckingFile   Phase = "checking the file"
	ReadingRecords Phase = "reading records"
	ReadingEvents  Phase = "reading events"
	Comparing      Phase = "comparing"
)

// Progress says how far a run is.
type Progress struct {
	Phase Phase `json:"phase"`
	Done  int   `json:"done"` // records, events, or facts that were compared
	Total int   `json:"total,omitempty"`
}

// Report is what a run saw.
type Report struct {
	At        dibs.Instant   `json:"-"` // the moment; of several parts the first
	Names     int            `json:"names"`
	Entities  int            `json:"entities"`
	Documents int            `json:"documents"`
	Events    int            `json:"events"`
	Findings  int            `json:"findings"`
	ByCheck   map[string]int `json:"byCheck,omitempty"`
	// Skipped are namespaces whose values were not checked, because their rules are being changed.
	Skipped []string `json:"skipped,omitempty"`
}

// Add adds the report of another part of a registry.
func (r *Report) Add(other Report) {
	if r.At == 0 || other.At < r.At {
		r.At = other.At
	}
	r.Names += other.Names
	r.Entities += other.Entities
	r.Documents += other.Documents
	r.Events += other.Events
	r.Findings += other.Findings
	if r.ByCheck == nil {
		r.ByCheck = make(map[string]int)
	}
	for check, n := range maps.All(other.ByCheck) {
		r.ByCheck[check] += n
	}
	r.Skipped = append(r.Skipped, other.Skipped...)
}

// Read is the first half of a run: it reads the whole moment, which can be closed then. Its result
// finishes the run.
func Read(ctx context.Context, moment Moment, options Options) (finish func() (Report, error), closeRun func() error, err error) {
	c := newChecker(ctx, moment.Now(), options)
	if err := c.read(moment); err != nil {
		_ = c.facts.Close()
		return nil, nil, err
	}
	return func() (Report, error) {
		err := c.compare()
		return c.report, err
	}, c.facts.Close, nil
}

// Store checks a store as of a moment.
func Store(ctx context.Context, moment Moment, options Options) (Report, error) {
	finish, closeRun, err := Read(ctx, moment, options)
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = closeRun() }()
	return finish()
}

// checker is one run.
type checker struct {
	Options
	ctx    context.Context
	soon   dibs.Instant // what ends later is not over
	report Report

	facts  extsort.Sorter
	added  int // facts
	fact   encoder
	failed error // the first error of the sorter or of Found

	spaces  map[string]*space // policies of the namespaces seen last
	odd     map[string]string // namespaces whose names follow other rules than those of the policy
	tally   map[dibs.NameCount]int
	order   uint64 // of events
	seen    int    // in this phase
	counted bool   // the engine's counts are known

	lacksEvents bool // names were forgotten, or purged since then, with their events
}

// defaultSlack is how much clocks may differ.
const defaultSlack = time.Minute

func newChecker(ctx context.Context, now dibs.Instant, options Options) *checker {
	return &checker{
		Options: options, ctx: ctx, facts: options.Sorter,
		soon:   now.Add(max(0, cmp.Or(options.Slack, defaultSlack))),
		report: Report{At: now, ByCheck: make(map[string]int)},
		spaces: make(map[string]*space), odd: make(map[string]string), tally: make(map[dibs.NameCount]int),
	}
}

// find reports a finding of a check.
func (c *checker) find(check *Check, f Finding) {
	f.Check, f.Advice, f.Urgent = check.ID, check.Advice, check.Urgent
	c.report.Findings++
	c.report.ByCheck[check.ID]++
	if c.Found != nil && c.failed == nil {
		c.failed = c.Found(f)
	}
}

// emit adds the fact that was encoded last.
func (c *checker) emit() {
	c.added++
	if err := c.facts.Add(c.fact); c.failed == nil {
		c.failed = err
	}
}

// stepSize is after how many records, events or facts progress is told.
const stepSize = 1000

// step is called after each record, event or fact. It returns an error that ends the run.
func (c *checker) step(phase Phase, total int) error {
	if c.seen++; c.failed != nil || c.seen%stepSize != 0 {
		return c.failed
	}
	if c.Progress != nil {
		c.Progress(Progress{phase, c.seen, total})
	}
	if c.Pause != nil && phase != Comparing {
		return c.Pause(c.ctx, stepSize)
	}
	return c.ctx.Err()
}

// read turns records and events into facts. Documents come first: they say which rules a namespace
// follows.
func (c *checker) read(moment Moment) error {
	if err := c.checkFile(moment); err != nil {
		return err
	}
	for _, table := range []snapshot.Table{snapshot.Documents, snapshot.Entities, snapshot.Names} {
		for record, err := range moment.Records(c.ctx, table) {
			if err := c.damage(err, func(row string) Finding { return c.aboutDamaged(record, row) }); err != nil {
				return err
			}
			if record != nil {
				c.record(record)
			}
			if err := c.step(ReadingRecords, 0); err != nil {
				return err
			}
		}
	}
	c.seen = 0
	for event, err := range moment.Events(c.ctx, "") {
		if err := c.damage(err, func(string) Finding { return aboutEvent(&event) }); err != nil {
			return err
		}
		c.event(&event)
		if err := c.step(ReadingEvents, 0); err != nil {
			return err
		}
	}
	if counter, ok := moment.(Counter); ok {
		counts, err := counter.Counts(c.ctx)
		if err != nil && !errors.Is(err, dibs.ErrUnsupported) {
			return err
		}
		c.counted = err == nil
		for _, count := range counts {
			c.addCount(tagCount, count)
		}
	}
	c.flushTally()
	return c.failed
}

func (c *checker) record(record dibs.Record) {
	if scope := record.Ref().Scope; c.InPart != nil && !c.InPart(scope) && !ofEveryPart(record) {
		c.find(wrongPart, c.about(record, "the routes lead to another store for the scope "+quoted(scope)))
	}
	switch r := record.(type) {
	case *dibs.NameRecord:
		c.report.Names++
		c.name(r)
	case *dibs.EntityRecord:
		c.report.Entities++
		c.entity(r)
	case *dibs.Document:
		c.report.Documents++
		c.document(r)
	}
}

// about returns a finding about a record.
func (c *checker) about(record dibs.Record, problem string) Finding {
	f := Finding{Problem: problem, Record: record.Ref().ID.String()}
	switch r := record.(type) {
	case *dibs.NameRecord:
		f.Namespace, f.Name = r.Namespace, shownLabel(r.Canonical)
	case *dibs.EntityRecord:
		f.Entity = entityText(r.Scope, r.Entity)
	case *dibs.Document:
		f.Record = string(r.Kind) + " " + r.Label
	}
	return f
}

// event turns an event into facts: about its name, and about the entity whose version it has.
func (c *checker) event(e *dibs.Event) {
	c.report.Events++
	c.order++
	c.lacksEvents = c.lacksEvents || e.Kind == dibs.EventForgotten
	switch {
	case e.ID.IsZero() && isAboutEntity(e.Kind):
	case e.ID.IsZero(): // the engine has the event's name in the row
		f := Finding{Record: "event " + string(e.Cursor), Namespace: e.Namespace, Problem: fmt.Sprintf("the event %q of revision %d belongs to a name that has no row", e.Kind, e.Rev)}
		if !e.Entity.IsZero() {
			f.Found = "an event of " + entityText(e.Scope, e.Entity)
		}
		c.find(orphanEvent, f)
	default:
		f := eventFact{
			order: c.order, label: label{e.Namespace, e.Canonical}, kind: e.Kind, value: e.Value, rev: e.Rev, epoch: e.Epoch,
			before: e.Before, after: e.After,
		}
		f.encode(&c.fact, e.ID)
		c.emit()
	}
	if e.Version != 0 && !e.Entity.IsZero() {
		c.fact.begin(subject{aboutEntity, dibs.EntityID(e.Scope, e.Entity)}, tagVersion)
		c.fact.order(e.Version)
		c.fact.order(c.order)
		c.fact.text(string(e.Kind))
		c.emit()
	}
}

// isAboutEntity reports whether events of a kind are about an entity as a whole.
func isAboutEntity(kind dibs.EventKind) bool {
	return kind == dibs.EventArchived || kind == dibs.EventRestored || kind == dibs.EventDeleted
}
