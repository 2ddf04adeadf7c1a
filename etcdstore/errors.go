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

// The errors with which Open refuses a prefix.
var (
	// ErrNewerLayout is returned for data of a newer version of Dibs.
	ErrNewerLayout = errors.New("etcdstore: a newer version of Dibs has written the data under this prefix: update this program")

	// ErrOlderLayout is returned for data of an older version of Dibs, in a layout that this one
	// does not read.
	ErrOlderLayout = errors.New("etcdstore: an older version of Dibs has written the data under this prefix, in a layout that this version does not read: " +
		"dump it with that version (dibs dump), and load the archive with this one (dibs load) into an empty prefix")

	// ErrForeignKeys is returned for a prefix with keys of another program.
	ErrForeignKeys = errors.New("etcdstore: the prefix has keys that do not belong to a registry: choose another one")
)

var (
	errContention = errors.New("other servers were faster in every attempt: try again")
	errFull       = errors.New("etcd's database is full (alarm NOSPACE) and refuses writes: compact and defragment it, or raise --quota-backend-bytes on all members, then run etcdctl alarm disarm")
)

// codeOf returns the gRPC status of an error.
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

// isTooLarge reports whether a transaction exceeds the servers' limits.
func isTooLarge(err error) bool {
	return errors.Is(err, rpctypes.ErrTooManyOps) || errors.Is(err, rpctypes.ErrRequestTooLarge) ||
		(codeOf(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max"))
}

// isCompacted reports whether a revision was compacted.
func isCompacted(err error) bool { return errors.Is(err, rpctypes.ErrCompacted) }

// isRefusal reports whether an error proves that a transaction is never applied: a member has
// refused it, or it was not delivered. After any other error it may still be applied.
func isRefusal(err error) bool {
	if isFull(err) {
		return false // the last transaction that fits gets this answer too
	}
	switch codeOf(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition,
		codes.ResourceExhausted, codes.NotFound, codes.Unimplemented, codes.OutOfRange:
		return true
	default:
		return isUndelivered(err)
	}
}

// isUndelivered reports whether no member has processed a request: no connection was possible,
// or the member has no leader.
func isUndelivered(err error) bool {
	if codeOf(err) != codes.Unavailable {
		return false
	}
	text := err.Error()
	return errors.Is(err, rpctypes.ErrNoLeader) || strings.Contains(text, "Error while dialing") ||
		strings.Contains(text, "there is no connection available") || strings.Contains(text, "there is no address available")
}

// isTransient reports whether another member, or a later attempt, may succeed.
func isTransient(err error) bool {
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Unknown, codes.Internal, codes.Aborted:
		return true
	default:
		return errors.Is(err, rpctypes.ErrTooManyRequests)
	}
}

// unavailable classifies an error of a call that changed nothing. It does not change an error
// that is classified already.
func unavailable(err error) error {
	if _, classified := errors.AsType[*dibs.Error](err); err == nil || classified || errors.Is(err, dibs.ErrBadCursor) {
		return err
	}
	if isFull(err) {
		err = fmt.Errorf("%w (%w)", errFull, err)
	}
	return dibs.Unavailable(err).Because(causeOf(err))
}

// causeOf returns the cause of an error, or "" if it is not known.
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
