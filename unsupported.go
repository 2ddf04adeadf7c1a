package dibs

import (
	"context"
	"fmt"
	"time"
)

// unsupported is the backend of a Registry that was bound to a transaction it
// cannot join: that of a server's client. Every call says so.
type unsupported struct{}

var _ Backend = unsupported{}

var errRemoteTx = fmt.Errorf("%w: a registry on a server cannot join a transaction of this process", ErrUnsupported)

func (unsupported) Apply(context.Context, ApplyRequest) ([]Result, error) { return nil, errRemoteTx }

func (unsupported) Check(context.Context, CheckRequest) ([]Availability, error) {
	return nil, errRemoteTx
}

func (unsupported) Resolve(context.Context, string, string) (Resolution, error) {
	return Resolution{}, errRemoteTx
}
func (unsupported) Get(context.Context, Lookup) (Name, error) { return Name{}, errRemoteTx }
func (unsupported) Entity(context.Context, string, Entity) (EntityInfo, error) {
	return EntityInfo{}, errRemoteTx
}

func (unsupported) List(context.Context, NamesQuery) (NamesPage, error) {
	return NamesPage{}, errRemoteTx
}

func (unsupported) History(context.Context, string, string) ([]Event, error) {
	return nil, errRemoteTx
}

func (unsupported) WhoHeld(context.Context, string, string, time.Time) (Holder, error) {
	return Holder{}, errRemoteTx
}

func (unsupported) Events(context.Context, FeedQuery, bool) (EventPage, error) {
	return EventPage{}, errRemoteTx
}

func (unsupported) Conflicts(context.Context, ConflictsQuery) ([]ConflictBucket, error) {
	return nil, errRemoteTx
}

func (unsupported) Sweep(context.Context, int) (SweepReport, error) {
	return SweepReport{}, errRemoteTx
}
func (unsupported) Close() error { return nil }
