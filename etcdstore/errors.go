package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/calldibs/dibs"
)

// What Open refuses.
var (
	// ErrNewerLayout is returned for data that a newer Dibs has written.
	ErrNewerLayout = errors.New("etcdstore: a newer version of Dibs has written what is under this prefix: update this program")

	// ErrForeignKeys is returned for a prefix under which there is something else.
	ErrForeignKeys = errors.New("etcdstore: under this prefix there are keys that are not a registry's: choose another one")
)

var (
	errCrowded = errors.New("other servers were faster every time")
	errFull    = errors.New("etcd's database is full (alarm NOSPACE) and takes no writes: compact and defragment it, or raise --quota-backend-bytes on all members, then run etcdctl alarm disarm")
)

// codeOf returns the status of a call to etcd.
func codeOf(err error) codes.Code {
	if e, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		return e.Code()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	}
	return status.Code(err)
}

// isFull reports whether etcd has no room left.
func isFull(err error) bool { return errors.Is(err, rpctypes.ErrNoSpace) }

// isTooLarge reports whether a transaction was more than the servers take.
func isTooLarge(err error) bool {
	return errors.Is(err, rpctypes.ErrTooManyOps) || errors.Is(err, rpctypes.ErrRequestTooLarge) ||
		(codeOf(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max"))
}

// isCompacted reports whether a past that was asked for is no longer there.
func isCompacted(err error) bool { return errors.Is(err, rpctypes.ErrCompacted) }

// isRefusal reports whether an error says that a transaction has not happened and never
// will: a member has refused it, or it was never sent. Of any other it may still happen.
func isRefusal(err error) bool {
	if isFull(err) {
		return false // the last one for which there was room gets this answer too
	}
	switch codeOf(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition,
		codes.ResourceExhausted, codes.NotFound, codes.Unimplemented, codes.OutOfRange:
		return true
	default:
		return isUnheard(err)
	}
}

// isUnheard reports whether no member has looked at a request: none could be connected to,
// or the one that was has lost the others, and said so first.
func isUnheard(err error) bool {
	if codeOf(err) != codes.Unavailable {
		return false
	}
	text := err.Error()
	return errors.Is(err, rpctypes.ErrNoLeader) || strings.Contains(text, "Error while dialing") ||
		strings.Contains(text, "there is no connection available") || strings.Contains(text, "there is no address available")
}

// mayPass reports whether the same question may be answered by another member, or later.
func mayPass(err error) bool {
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Unknown, codes.Internal, codes.Aborted:
		return true
	default:
		return errors.Is(err, rpctypes.ErrTooManyRequests)
	}
}

// unavailable classifies an error of a call that did nothing. What is classified
// already stays as it is.
func unavailable(err error) error {
	var classified *dibs.Error
	switch {
	case err == nil, errors.As(err, &classified), errors.Is(err, dibs.ErrBadCursor):
		return err
	case isFull(err):
		err = fmt.Errorf("%w (%w)", errFull, err)
	}
	return dibs.Unavailable(err).Because(causeOf(err))
}

// causeOf says what is wrong with the cluster, as far as an error tells it.
func causeOf(err error) dibs.Cause {
	if isFull(err) {
		return dibs.CauseDiskFull
	}
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return dibs.CauseNoAnswer
	case codes.Unauthenticated, codes.PermissionDenied:
		return dibs.CauseLogin
	default:
		return ""
	}
}
