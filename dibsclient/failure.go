package dibsclient

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// failure is a failed attempt.
type failure struct {
	err          error
	refused      bool          // the registry decided, and refused
	maybeApplied bool          // the request may have reached the registry
	retryable    bool          // another attempt may succeed
	retryAfter   time.Duration // the least delay that the server asks for
	problem      *wire.Problem // the server's description, nil for none
}

// finalError returns the error for the caller after the last attempt. If an earlier attempt
// may have been applied, the outcome is unknown, unless the registry itself refused the last
// one and would not have refused it after applying the earlier one.
func (do call) finalError(ctx context.Context, f *failure, maybeApplied bool) error {
	maybeApplied = maybeApplied && do.changes
	if f.refused {
		if refusal, ok := errors.AsType[*dibs.Error](f.err); ok && maybeApplied && do.ambiguous != nil && do.ambiguous(refusal) {
			// The error wraps the refusal, which tells the present state.
			unknown := dibs.OutcomeUnknown(refusal)
			unknown.Message = "the change may have been applied, and changed again since; the registry refused its repetition"
			return unknown
		}
		return f.err
	}
	err, ended := f.err, ctx.Err()
	if ended != nil {
		err = ended
	}
	switch {
	case maybeApplied:
		return do.outcomeUnknown(err)
	case ended != nil && !do.changes:
		return ended
	case ended != nil || f.retryable:
		return unavailable(err)
	default:
		return err
	}
}

// outcomeUnknown returns the error for a call that may have been applied. If repeating the
// call could do harm, its message does not suggest that.
func (do call) outcomeUnknown(err error) error {
	unknown, ok := errors.AsType[*dibs.Error](err)
	if !ok || unknown.Code != dibs.CodeOutcomeUnknown {
		unknown = dibs.OutcomeUnknown(withoutCode(err))
	}
	if !do.repeatable {
		unknown.Message = "the change may have been applied; read the current state before you run it again, since another caller may have changed it meanwhile"
	}
	return unknown
}

func unavailable(err error) error {
	if known, ok := errors.AsType[*dibs.Error](err); ok {
		return known
	}
	return dibs.Unavailable(err)
}

// withoutCode returns what an error with a code wraps, or its message. An error with another
// code can wrap that and still match one code only.
func withoutCode(err error) error {
	known, ok := errors.AsType[*dibs.Error](err)
	if !ok {
		return err
	}
	return cmp.Or(known.Unwrap(), errors.New(known.Message))
}
