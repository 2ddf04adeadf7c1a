package core

import (
	"context"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	// maxShared is how many records a question may read to share a Load with others: a small
	// question should not wait for a large one.
	maxShared = 64
	// maxRereads is how often a read is repeated because a record changed between its steps.
	maxRereads = 20
)

// ask answers a question from one consistent state of the engine. Small questions share reads
// with others.
func ask[T any](ctx context.Context, c *core, q *rules.Job[T]) (T, error) {
	return answer(ctx, c, q, c.reader != nil && q.Size() <= maxShared)
}

// askAlone answers a question from one consistent state of the engine, by a read of its own.
func askAlone[T any](ctx context.Context, c *core, q *rules.Job[T]) (T, error) {
	return answer(ctx, c, q, false)
}

// askUnchanged asks a question, calls read, and asks again, until the version is the same before
// and after. It returns the last answer.
func askUnchanged[T any, V comparable](ctx context.Context, c *core, q *rules.Job[T], version func(T) V, read func(T) error) (answer T, _ error) {
	before, err := askAlone(ctx, c, q)
	for range maxRereads {
		if err != nil {
			return answer, err
		}
		if err := read(before); err != nil {
			return answer, err
		}
		after, failed := askAlone(ctx, c, q)
		if failed == nil && version(after) == version(before) {
			return after, nil
		}
		before, err = after, failed
	}
	return answer, dibs.Unavailable(errContended)
}

// answer decides a question by a read, which it may share with others. If the answer rests on
// past ends that are not final, this caller alone waits until they are, and the question is
// decided again.
func answer[T any](ctx context.Context, c *core, q *rules.Job[T], share bool) (none T, _ error) {
	var awaited []rules.PastEnd
	for range maxRereads {
		var err error
		if share {
			err = c.reader.decide(ctx, q.Request)
		} else {
			_, err = decideAll(ctx, c.store, []*rules.Request{q.Request})
		}
		if err != nil {
			return none, err
		}
		open := c.ends.open(q.Request, awaited)
		if len(open) == 0 {
			answer, refused := q.Result()
			if refused != nil {
				return none, refused
			}
			return answer, nil
		}
		if err := c.ends.await(ctx, open); err != nil {
			return none, err
		}
		share, awaited = false, open
	}
	return none, dibs.Unavailable(errContended)
}
