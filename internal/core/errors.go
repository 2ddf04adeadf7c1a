package core

import (
	"context"
	"errors"

	"github.com/calldibs/dibs"
)

// asError returns the *Error in err's tree. A context's error means that the engine
// did nothing, and so does a transaction that lost its race. What an engine did not
// classify may have left anything behind.
func asError(err error) *dibs.Error {
	var e *dibs.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, dibs.ErrRetryTx):
		return dibs.Unavailable(err)
	default:
		return dibs.OutcomeUnknown(err)
	}
}
