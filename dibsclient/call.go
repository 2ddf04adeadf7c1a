package dibsclient

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// call is one call of the API.
type call struct {
	name   string // for people; paths have values in them
	method string
	path   string // escaped
	query  url.Values
	body   any // nil for none

	// read takes the answer in. An error means that it makes no sense.
	read func(data []byte) error
	// reads reports whether read is also for answers with this status. Nil means that
	// it is for 2xx alone.
	reads func(status int) bool

	changes   bool // it may change something
	repeats   bool // asking again does no harm, also if it was done
	unbounded bool // it takes as long as it takes

	// doubts reports whether a call that may have been done can have been refused
	// afterwards all the same. Nil means that it cannot.
	doubts func(refusal *dibs.Error) bool
}

// failure is an attempt that came to nothing.
type failure struct {
	err             error
	refused         bool          // the registry has decided, and it means no
	mayHaveHappened bool          // the request was on its way
	again           bool          // another attempt may go better
	after           time.Duration // how long the server wants to be left alone
	problem         *wire.Problem // what the server said, if it did
}

// do makes attempts until one of them settles the matter.
func (c *client) do(ctx context.Context, do call) error {
	if f := c.ask(ctx, do); f != nil {
		return f.err
	}
	return nil
}

// ask is do, and returns the last failure. Its error is the one for the caller.
func (c *client) ask(ctx context.Context, do call) *failure {
	body, err := encode(do.body)
	if err != nil {
		return &failure{err: err}
	}
	inDoubt := false
	for retry := 1; ; retry++ {
		if c.closed.Err() != nil {
			f := &failure{err: dibs.Unavailable(dibs.ErrClosed)}
			f.err = do.settle(ctx, f, inDoubt)
			return f
		}
		f := c.attempt(ctx, do, body)
		if f == nil {
			return nil
		}
		inDoubt = inDoubt || f.mayHaveHappened
		if retry > c.options.Retries || !f.again || (inDoubt && !do.repeats) || !c.pause(ctx, do, f, retry) {
			f.err = do.settle(ctx, f, inDoubt)
			return f
		}
	}
}

// pause waits before a retry, and reports whether there is time for it.
func (c *client) pause(ctx context.Context, do call, f *failure, retry int) bool {
	pause := pauseBefore(retry, c.firstPause, f.after)
	c.options.Logger.DebugContext(ctx, "dibs: a call is repeated", "call", do.name, "error", f.err, "pause", pause)
	return wait(ctx, pause)
}

// settle returns what to tell the caller after the last attempt. One that was refused
// is no help if an earlier one may have been done, unless it was the registry itself
// that refused it, and would not have if it had been done.
func (do call) settle(ctx context.Context, f *failure, inDoubt bool) error {
	inDoubt = inDoubt && do.changes
	if f.refused {
		if refusal, ok := errors.AsType[*dibs.Error](f.err); ok && inDoubt && do.doubts != nil && do.doubts(refusal) {
			return refusedInDoubt(refusal)
		}
		return f.err
	}
	err, ended := f.err, ctx.Err()
	if ended != nil {
		err = ended
	}
	switch {
	case inDoubt:
		return do.outcomeUnknown(err)
	case ended != nil && !do.changes:
		return ended
	case ended != nil || f.again:
		return unavailable(err)
	default:
		return err
	}
}

// outcomeUnknown is the error for a call that may have been done. Where repeating could
// do harm, the message must not ask for it either.
func (do call) outcomeUnknown(err error) error {
	unknown, ok := errors.AsType[*dibs.Error](err)
	if !ok || unknown.Code != dibs.CodeOutcomeUnknown {
		unknown = dibs.OutcomeUnknown(plain(err))
	}
	if !do.repeats {
		unknown.Message = "it may have happened; look how things stand before you run it again, since somebody may have changed them meanwhile"
	}
	return unknown
}

// refusedInDoubt is the error for a call that may have been done, and was refused when
// it was sent again. The refusal is how things stand now, and matches as well.
func refusedInDoubt(refusal *dibs.Error) error {
	unknown := dibs.OutcomeUnknown(refusal)
	unknown.Message = "it may have happened, and something else since; asked again, the registry said"
	return unknown
}

func unavailable(err error) error {
	if known, ok := errors.AsType[*dibs.Error](err); ok {
		return known
	}
	return dibs.Unavailable(err)
}

// plain takes the code off an error that is going to be the cause of another one, and
// must not match both.
func plain(err error) error {
	var known *dibs.Error
	switch {
	case !errors.As(err, &known):
		return err
	case known.Unwrap() != nil:
		return known.Unwrap()
	default:
		return errors.New(known.Message)
	}
}
