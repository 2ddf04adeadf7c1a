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
	return answered(q, c.answer(ctx, q.Request))
}

// askAlone answers a question from one consistent state of the engine, apart from others.
func askAlone[T any](ctx context.Context, c *core, q *rules.Job[T]) (T, error) {
	return answered(q, c.answerAlone(ctx, q.Request, nil))
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

func answered[T any](q *rules.Job[T], err error) (answer T, _ error) {
	if err != nil {
		return answer, err
	}
	answer, _ = q.Result()
	return answer, nil
}

// answer decides a question by a shared read, unless it is large or in a transaction of the
// caller.
func (c *core) answer(ctx context.Context, r *rules.Request) error {
	if c.reader == nil || r.Size() > maxShared {
		return c.answerAlone(ctx, r, nil)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.reader.decide(ctx, r); err != nil {
		return err
	}
	open := c.ends.open(r, nil)
	if len(open) == 0 {
		return refusal(r)
	}
	// Only this caller waits until the ends are final: the questions that shared its read
	// need not.
	if err := c.ends.await(ctx, open); err != nil {
		return err
	}
	return c.answerAlone(ctx, r, open)
}

// answerAlone decides a question by reads of its own. awaited are the past ends that were
// awaited before.
func (c *core) answerAlone(ctx context.Context, r *rules.Request, awaited []rules.PastEnd) error {
	for range maxRereads {
		if _, err := decideAll(ctx, c.store, []*rules.Request{r}); err != nil {
			return err
		}
		open := c.ends.open(r, awaited)
		if len(open) == 0 {
			return refusal(r)
		}
		if err := c.ends.await(ctx, open); err != nil {
			return err
		}
		awaited = open
	}
	return dibs.Unavailable(errContended)
}

// refusal returns the error of a decided question: nil, and not a nil *dibs.Error, if there is
// none.
func refusal(r *rules.Request) error {
	if _, err := r.Result(); err != nil {
		return err
	}
	return nil
}
