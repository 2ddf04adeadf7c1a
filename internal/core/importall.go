package core

import (
	"context"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

// maxImports is how many names one ImportAll may have.
const maxImports = 1000

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
}

// importAll decides rows in order, and commits them together. It does not go through the queue,
// where other calls would get between them.
func (c *core) importAll(ctx context.Context, i importing) (struct{}, error) {
	start, rows := time.Now(), i.rows
	calls, batch := make([]*call, len(rows)), make([]*call, 0, len(rows))
	set := c.rules()
	for n, row := range rows {
		r, err := set.Apply(i.request(row))
		if err != nil {
			i.answers[row].Err = err
			continue
		}
		calls[n] = newCall(r, false)
		batch = append(batch, calls[n])
	}
	if err := c.sendBatch(ctx, batch); err != nil {
		return struct{}{}, err
	}
	for n, row := range rows {
		if calls[n] != nil {
			if err := c.importAnswer(ctx, calls[n], &i.answers[row]); err != nil {
				return struct{}{}, err
			}
		}
		c.noteImport(i, row, start)
	}
	return struct{}{}, nil
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

func (c *core) noteImport(i importing, row int, start time.Time) {
	err := i.answers[row].Err
	if err != nil && !i.req.DryRun {
		c.conflicts.note(err, 0)
	}
	observeCommand(&c.cfg.Observer, i.request(row), start, err)
}

// sendBatch hands calls to the committer as one batch, in order.
func (c *core) sendBatch(ctx context.Context, batch []*call) error {
	switch {
	case len(batch) == 0:
		return nil
	case c.IsBound():
		for _, call := range batch {
			if err := c.send(ctx, call); err != nil {
				return err
			}
		}
		return nil
	}
	return c.writer.commitNow(ctx, batch)
}
