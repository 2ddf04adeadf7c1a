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
	return answered(q, c.answer(ctx, q.Request, true))
}

// askAlone answers a question from one consistent state of the engine, apart from others.
func askAlone[T any](ctx context.Context, c *core, q *rules.Job[T]) (T, error) {
	return answered(q, c.answer(ctx, q.Request, false))
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

// answer decides a question: by a read that it shares if that is allowed and the question is
// small, else by a read of its own. If the answer rests on past ends that are not final, this
// caller alone waits until they are, and the question is decided again.
func (c *core) answer(ctx context.Context, r *rules.Request, mayShare bool) error {
	share := mayShare && c.reader != nil && r.Size() <= maxShared
	var awaited []rules.PastEnd
	for range maxRereads {
		if err := c.decide(ctx, r, share); err != nil {
			return err
		}
		open := c.ends.open(r, awaited)
		if len(open) == 0 {
			return refusal(r)
		}
		if err := c.ends.await(ctx, open); err != nil {
			return err
		}
		share, awaited = false, open
	}
	return dibs.Unavailable(errContended)
}

func (c *core) decide(ctx context.Context, r *rules.Request, share bool) error {
	if share {
		return c.reader.decide(ctx, r)
	}
	_, err := decideAll(ctx, c.store, []*rules.Request{r})
	return err
}

// refusal returns the error of a decided question: nil, and not a nil *dibs.Error, if there is
// none.
func refusal(r *rules.Request) error {
	if _, err := r.Result(); err != nil {
		return err
	}
	return nil
}
