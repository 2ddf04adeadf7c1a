package core

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	// maxImports is how many names one ImportAll may have.
	maxImports = 10_000
	// importsAtOnce is how many of them one commit has: the more there are, the less each costs, and
	// the longer other callers wait for a commit.
	importsAtOnce = 1000
)

// ImportAll enters names, each by itself, in order.
func (r *router) ImportAll(ctx context.Context, req dibs.ImportRequest) ([]dibs.Imported, error) {
	switch n := len(req.Imports); {
	case n == 0:
		return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: "there is no name to import"}
	case n > maxImports:
		return nil, &dibs.Error{Code: dibs.CodeTooLarge, Message: fmt.Sprintf("%d names in one list, more than the %d allowed", n, maxImports)}
	}
	answers := make([]dibs.Imported, len(req.Imports))
	for part, rows := range r.rowsOfParts(req.Imports) {
		if len(rows) == 0 {
			continue
		}
		i := importing{req: req, rows: rows, answers: answers}
		if _, err := on(ctx, r, part, callWork("import", req.Imports[rows[0]].Namespace, len(rows)), (*core).importAll, i); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// rowsOfParts returns the indexes of the imports of each part, in order.
func (r *router) rowsOfParts(imports []dibs.Import) [][]int {
	parts := make([][]int, len(r.parts))
	for i, row := range imports {
		part := r.partFor(row.Namespace)
		parts[part] = append(parts[part], i)
	}
	return parts
}

// importing is the rows of a list that belong to one part.
type importing struct {
	req     dibs.ImportRequest
	rows    []int
	answers []dibs.Imported // of all rows
	start   time.Time
}

// importAll decides rows in order, and commits them in batches. They do not go through the queue,
// where other calls would get between them. Where the engine has several writers, two batches without a
// record in common are committed at once: the engine works on one while the other is encoded and sent.
func (c *core) importAll(ctx context.Context, i importing) (struct{}, error) {
	i.start = time.Now()
	if c.IsBound() {
		return struct{}{}, c.importBound(ctx, i)
	}
	release, err := c.writer.takeLane(ctx)
	if err != nil {
		return struct{}{}, err
	}
	defer release()
	stop := make(chan struct{})
	defer close(stop)
	var commits sync.WaitGroup
	defer commits.Wait()
	var last *importBatch // whose commit is under way
	for b := range c.decideAhead(i, stop) {
		if last != nil && !b.apart {
			if err := c.importAnswers(ctx, i, last); err != nil {
				return struct{}{}, err
			}
			last = nil
		}
		commits.Go(func() {
			defer close(b.done)
			if len(b.batch) > 0 {
				c.writer.commitOn(ctx, b.desk, b.batch, b.decided)
			}
		})
		if last != nil {
			if err := c.importAnswers(ctx, i, last); err != nil {
				return struct{}{}, err
			}
		}
		last = b
	}
	if last == nil {
		return struct{}{}, nil
	}
	return struct{}{}, c.importAnswers(ctx, i, last)
}

// importBatch is rows that are committed together.
type importBatch struct {
	rows    []int
	calls   []*call // one for each row; nil if the row is refused
	batch   []*call // without those
	desk    *desk
	decided bool // the batch was, on the desk
	// apart says that no row depends on one of the batch before: both may be committed at once.
	apart bool
	done  chan struct{} // closed after the commit
}

// decideAhead prepares batches, and decides each on guesses while the batch before it is committed:
// most names of an import are new. Where that was wrong, Commit finds it, and the rows are decided
// again behind those before them.
func (c *core) decideAhead(i importing, stop <-chan struct{}) <-chan *importBatch {
	ready := make(chan *importBatch)
	go func() {
		defer close(ready)
		set, before := c.rules(), recordsOf(nil)
		for rows := range slices.Chunk(i.rows, importsAtOnce) {
			b := &importBatch{
				rows: rows, calls: make([]*call, len(rows)), batch: make([]*call, 0, len(rows)), desk: desks.Get().(*desk),
				done: make(chan struct{}),
			}
			for n, row := range rows {
				if b.calls[n] = i.call(set, row); b.calls[n] != nil {
					b.batch = append(b.batch, b.calls[n])
				}
			}
			c.writer.committer.begin(b.desk, b.batch)
			b.decided = len(b.batch) > 0 && c.writer.committer.guess(b.desk, b.batch)
			if c.cfg.Writers > 1 {
				records := recordsOf(b)
				b.apart, before = before.areApartFrom(records), records
			}
			select {
			case ready <- b:
			case <-stop:
				return
			}
		}
	}()
	return ready
}

// batchRecords are the records that a decided batch has read, and whether it changes them. They are nil
// if they are not known.
type batchRecords map[rules.Key]bool

func recordsOf(b *importBatch) batchRecords {
	if b == nil || !b.decided {
		return nil
	}
	return maps.Collect(b.desk.state.Touched())
}

// areApartFrom reports whether neither batch changes a record of the other.
func (r batchRecords) areApartFrom(other batchRecords) bool {
	for key, changed := range other {
		if changes, both := r[key]; both && (changed || changes) {
			return false
		}
	}
	return r != nil && other != nil
}

// call returns the call for a row, or nil if the row is refused.
func (i *importing) call(set *rules.Policies, row int) *call {
	r, err := set.Apply(i.request(row))
	if err != nil {
		i.answers[row].Err = err
		return nil
	}
	sent := newCall(r, false)
	sent.inOrder = true // of two rows that want a name, the first one gets it
	return sent
}

// importAnswers waits for the commit of a batch, and answers its rows.
func (c *core) importAnswers(ctx context.Context, i importing, b *importBatch) error {
	<-b.done
	for n, row := range b.rows {
		if b.calls[n] != nil {
			if err := c.importAnswer(ctx, b.calls[n], &i.answers[row]); err != nil {
				return err
			}
		}
		c.noteImport(i, row)
	}
	desks.Put(b.desk)
	return nil
}

// importBound imports rows in the transaction of the caller, one after the other.
func (c *core) importBound(ctx context.Context, i importing) error {
	set := c.rules()
	for _, row := range i.rows {
		if sent := i.call(set, row); sent != nil {
			if err := c.send(ctx, sent); err != nil {
				return err
			}
			if err := c.importAnswer(ctx, sent, &i.answers[row]); err != nil {
				return err
			}
		}
		c.noteImport(i, row)
	}
	return nil
}

func (i *importing) request(row int) dibs.ApplyRequest {
	return dibs.ApplyRequest{Principal: i.req.Principal, Commands: []dibs.Command{i.req.Imports[row]}, DryRun: i.req.DryRun}
}

// importAnswer waits for the answer to a row. An error of the engine is one of all rows.
func (c *core) importAnswer(ctx context.Context, sent *call, answer *dibs.Imported) error {
	err := c.await(ctx, sent)
	switch {
	case err == nil:
		results, _ := sent.Result()
		answer.Name, answer.Replayed = results[0].Names[0], results[0].Replayed
	case err.Code == dibs.CodeUnavailable || err.Code == dibs.CodeOutcomeUnknown:
		return err
	default:
		answer.Err = err
	}
	return nil
}

func (c *core) noteImport(i importing, row int) {
	err := i.answers[row].Err
	if err != nil && !i.req.DryRun {
		c.conflicts.note(err, 0)
	}
	if c.cfg.Observer.Command != nil {
		observeCommand(&c.cfg.Observer, i.request(row), i.start, err)
	}
}
