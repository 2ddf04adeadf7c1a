package dibsimport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/calldibs/dibs"
)

// OnConflict says what happens to a row whose name is taken, by an earlier row or in the registry.
type OnConflict string

// What can happen to such a row.
const (
	First  OnConflict = "first"  // the first row gets the name; later ones are lost
	Suffix OnConflict = "suffix" // later ones get the name with a number: name-2, name-3
	Skip   OnConflict = "skip"   // no row gets a name that several want
	Fail   OnConflict = "fail"   // nothing is imported if any row would be lost
)

// Options are the options of Run.
type Options struct {
	Mapping    Mapping
	OnConflict OnConflict // empty means First
	Plan       *Report    // of a [Plan] of the same source; Skip and Fail need it

	// Lost is told of each row that is not imported. Nil means that only the report counts them.
	Lost func(Lost) error
	// Suffixed is told of each row that got a number, with the value that it has now. Nil means
	// that only the report counts them.
	Suffixed func(row Row, wanted string) error
	// Progress is told the report so far, after each batch. Nil means no one.
	Progress func(Report)
}

// Lost is a row that was not imported.
type Lost struct {
	Row
	Err     *dibs.Error // why
	Columns []string    // of the source, in order; of the row, if each has its own
	Other   string      // where the source has the row with the same name; empty if it is none of the source
}

// Report is what an import did.
type Report struct {
	Rows      int `json:"rows"`      // that were read
	Imported  int `json:"imported"`  // names that are new in the registry
	Unchanged int `json:"unchanged"` // names that their owners had already
	Suffixed  int `json:"suffixed"`  // of all names, those that got a number
	Archived  int `json:"archived"`  // entities that were archived
	Lost      int `json:"lost"`      // rows that were not imported

	contested *rowSet // the rows of a plan that want a name which another row wants too
}

// Complete reports whether every row was imported.
func (r Report) Complete() bool { return r.Lost == 0 }

// ErrRefused is returned by Run with Fail if the plan says that rows would be lost.
var ErrRefused = errors.New("some rows would be lost, so none was imported")

var errNoPlan = errors.New("dibsimport: Skip and Fail need the Plan of the same source")

// batchSize is how many rows are entered at once.
const batchSize = 4000

// Run enters the rows of a source in order. Rows that need others first come last: aliases after
// active names, and the archiving of entities after both. It stops at the first record that cannot
// be read, and at the first error of the registry; the rows before stay, and another Run goes on.
func Run(ctx context.Context, registry *dibs.Registry, source Source, options Options) (Report, error) {
	switch {
	case options.OnConflict != Skip && options.OnConflict != Fail:
		options.Plan = nil
	case options.Plan == nil:
		return Report{}, errNoPlan
	case options.OnConflict == Fail && !options.Plan.Complete():
		return Report{}, ErrRefused
	}
	r := newRunner(ctx, registry, options)
	return r.run(source)
}

// Plan says what Run would do: it enters the rows into a scratch registry. Lost is told of each row
// that Run would lose. With Skip it is told of rows that come too late; Run loses the first ones too.
func Plan(ctx context.Context, scratch *Scratch, source Source, options Options) (Report, error) {
	r := newRunner(ctx, scratch.registry, options)
	r.planning = true
	r.Plan, r.report.contested = nil, newRowSet()
	return r.run(source)
}

type runner struct {
	Options
	ctx      context.Context
	registry *dibs.Registry
	planning bool // the registry is a scratch one
	report   Report
	rows     rowReader
	batch    []Row
	later    spool // rows that need others first
	suffixes suffixes
}

func newRunner(ctx context.Context, registry *dibs.Registry, options Options) *runner {
	return &runner{ctx: ctx, registry: registry, Options: options, rows: rowReader{mapping: options.Mapping}}
}

func (r *runner) run(source Source) (Report, error) {
	defer r.later.close()
	err := r.readAll(source)
	if err == nil {
		err = r.finish()
	}
	return r.report, err
}

// readAll enters the rows of a source, but for those that need others first. The source is read a
// batch ahead, while rows are entered.
func (r *runner) readAll(source Source) error {
	stop := make(chan struct{})
	ahead := readAhead(source, stop)
	defer func() {
		close(stop)
		for range ahead { // until it no longer reads: the caller may close the source
		}
	}()
	for some := range ahead {
		for _, record := range some.records {
			if err := r.read(some.columns, record); err != nil {
				return errors.Join(r.flush(), err) // the rows before it are good
			}
		}
		if some.err != nil {
			return errors.Join(r.flush(), some.err)
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
	}
	return r.flush()
}

// records are some of a source, in order.
type records struct {
	records []Record
	columns []string
	err     error // why there are no more; nil at the end of the source
}

// readAhead reads a source beside its caller, until it ends or stop is closed.
func readAhead(source Source, stop <-chan struct{}) <-chan records {
	ahead := make(chan records)
	go func() {
		defer close(ahead)
		for done := false; !done; {
			some := records{records: make([]Record, 0, batchSize)}
			for len(some.records) < batchSize && !done {
				record, err := source.Next()
				switch {
				case err == nil:
					some.records = append(some.records, record)
				case errors.Is(err, io.EOF):
					done = true
				default:
					done, some.err = true, err
				}
			}
			some.columns = source.Columns()
			select {
			case ahead <- some:
			case <-stop:
				return
			}
		}
	}()
	return ahead
}

func (r *runner) read(columns []string, record Record) error {
	row, err := r.rows.read(columns, record)
	if err != nil {
		return err
	}
	return r.take(row)
}

// take enters a row, or keeps it for later.
func (r *runner) take(row Row) error {
	r.report.Rows++
	switch {
	case row.unreadable != nil:
	case row.AliasOf != "":
		return r.later.add(row)
	case row.Archived:
		archive := row
		archive.Value = ""
		if err := r.later.add(archive); err != nil {
			return err
		}
	}
	return r.add(row)
}

// finish enters the aliases, and then archives entities: an archived one gets no name.
func (r *runner) finish() error {
	var archive spool
	defer archive.close()
	err := r.later.each(func(row Row) error {
		if row.Archived {
			archived := row
			archived.Value = ""
			if err := archive.add(archived); err != nil {
				return err
			}
		}
		if row.Value == "" {
			return nil
		}
		return r.add(row)
	})
	if err == nil {
		err = r.flush()
	}
	if err == nil {
		err = r.archiveAll(&archive)
	}
	return err
}

// archivers is how many entities are archived at once: they share commits.
const archivers = 128

// archiveAll archives the entities of rows. Their order does not matter.
func (r *runner) archiveAll(rows *spool) error {
	var (
		running  sync.WaitGroup
		archived atomic.Int64
		failed   atomic.Pointer[error]
		room     = make(chan struct{}, archivers)
	)
	err := rows.each(func(row Row) error {
		if err := failed.Load(); err != nil {
			return *err
		}
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			switch changed, err := r.archive(row); {
			case err != nil:
				failed.Store(&err)
			case changed:
				archived.Add(1)
			}
		})
		return nil
	})
	running.Wait()
	r.report.Archived += int(archived.Load())
	if last := failed.Load(); err == nil && last != nil {
		err = *last
	}
	return err
}

func (r *runner) archive(row Row) (changed bool, err error) {
	result, err := r.registry.Archive(r.ctx, dibs.Archive{Scope: dibs.ScopeOf(row.Namespace), Entity: row.Entity})
	if refused, ok := errors.AsType[*dibs.Error](err); ok && refused.Code == dibs.CodeEntityNotFound {
		return false, nil // its name was lost, which was told
	}
	if err != nil {
		return false, fmt.Errorf("archiving %s of %s: %w", row.Entity, row.Where, err)
	}
	return !result.Replayed, nil
}

// planned begins the correlation ids of a plan, which no others begin with.
const planned = "row of a plan: "

func (r *runner) add(row Row) error {
	if r.Plan != nil && r.Plan.contested.has(row.Where) {
		return r.lose(row, &dibs.Error{
			Code: dibs.CodeNameTaken, Namespace: row.Namespace, Message: "several rows want this name, and none gets it",
		}, "")
	}
	if r.planning {
		row.CorrelationID = planned + row.Where // so that a later row with the same name finds this one
	}
	if r.batch = append(r.batch, row); len(r.batch) < batchSize {
		return nil
	}
	return r.flush()
}

// flush enters the rows that were read.
func (r *runner) flush() error {
	rows := r.batch
	r.batch = r.batch[:0]
	for len(rows) > 0 {
		taken, err := r.enter(rows)
		if err != nil {
			return err
		}
		rows = taken
	}
	if r.Progress != nil {
		r.Progress(r.report)
	}
	return nil
}

// enter enters rows, and returns those to try again with another suffix.
func (r *runner) enter(rows []Row) (again []Row, err error) {
	request := dibs.ImportRequest{Imports: make([]dibs.Import, 0, len(rows))}
	for i := range rows {
		if rows[i].unreadable == nil {
			request.Imports = append(request.Imports, rows[i].Import)
		}
	}
	var results []dibs.Imported
	if len(request.Imports) > 0 {
		if results, err = r.registry.ImportAll(r.ctx, request); err != nil {
			return nil, fmt.Errorf("%s to %s: %w", rows[0].Where, rows[len(rows)-1].Where, r.placed(err))
		}
	}
	for i := range rows {
		if row := &rows[i]; row.unreadable != nil {
			err = r.lose(*row, row.unreadable, "")
		} else {
			var next bool
			if next, err = r.entered(row, &results[0]); next {
				again = append(again, *row)
			}
			results = results[1:]
		}
		if err != nil {
			return nil, err
		}
	}
	return again, nil
}

// placed says of a plan's full disk which one it is: a plan does not write to the disk of the registry.
func (r *runner) placed(err error) error {
	if failed, ok := errors.AsType[*dibs.Error](err); ok && failed.Cause == dibs.CauseDiskFull && r.planning {
		return inTempDir(err)
	}
	return err
}

// entered counts or loses a row, or gives it the next name to try.
func (r *runner) entered(row *Row, result *dibs.Imported) (again bool, err error) {
	switch {
	case result.Err == nil:
		return false, r.count(row, result)
	case r.OnConflict == Suffix && result.Err.Code == dibs.CodeNameTaken && r.suffixes.next(row):
		return true, nil
	case r.OnConflict == Suffix && result.Err.Code == dibs.CodeNotOwner && row.AliasOf != "":
		if again, err = r.followNumber(row); again || err != nil {
			return again, err
		}
		fallthrough
	default:
		return false, r.refused(*row, result.Err)
	}
}

// followNumber lets an alias lead to the name that its owner has with a number. It reports whether there
// is one.
func (r *runner) followNumber(row *Row) (found bool, err error) {
	owner, err := r.registry.Entity(r.ctx, dibs.ScopeOf(row.Namespace), row.Entity)
	if refused, ok := errors.AsType[*dibs.Error](err); ok && refused.Code == dibs.CodeEntityNotFound {
		return false, nil
	}
	for _, name := range owner.Names {
		number, has := strings.CutPrefix(name.Value, row.AliasOf+"-")
		if _, notNumber := strconv.Atoi(number); has && notNumber == nil && name.Namespace == row.Namespace && name.State == dibs.Active {
			row.AliasOf = name.Value
			return true, nil
		}
	}
	return false, err
}

func (r *runner) count(row *Row, result *dibs.Imported) error {
	if result.Replayed {
		r.report.Unchanged++
	} else {
		r.report.Imported++
	}
	if row.original == "" {
		return nil
	}
	r.report.Suffixed++
	if r.Suffixed == nil {
		return nil
	}
	return r.Suffixed(*row, row.original)
}

// refused loses a row. A plan also finds out which row has the name.
func (r *runner) refused(row Row, refusal *dibs.Error) error {
	other := ""
	if r.planning && refusal.Code == dibs.CodeNameTaken {
		name, err := r.registry.Get(r.ctx, dibs.Lookup{Namespace: row.Namespace, Value: row.Value})
		where, ofPlan := strings.CutPrefix(name.CorrelationID, planned)
		if err == nil && ofPlan {
			other = where
			r.report.contested.add(row.Where)
			r.report.contested.add(other)
		}
	}
	return r.lose(row, refusal, other)
}

func (r *runner) lose(row Row, refusal *dibs.Error, other string) error {
	r.report.Lost++
	if r.Lost == nil {
		return nil
	}
	columns := r.rows.columns
	if !r.rows.resolved { // each record has its own
		columns = slices.Sorted(maps.Keys(row.Fields))
	}
	return r.Lost(Lost{Row: row, Columns: columns, Err: refusal, Other: other})
}
