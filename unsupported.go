package dibs

import (
	"context"
	"fmt"
	"time"
)

// unsupported is the backend of a Registry that was bound to a transaction it
// cannot join. Every call says why.
type unsupported struct{ why error }

var _ Backend = unsupported{}

var errRemoteTx = fmt.Errorf("%w: a registry on a server cannot join a transaction of this process", ErrUnsupported)

func (u unsupported) Apply(context.Context, ApplyRequest) ([]Result, error) { return nil, u.why }

func (u unsupported) Check(context.Context, CheckRequest) ([]Availability, error) { return nil, u.why }

func (u unsupported) Resolve(context.Context, string, string) (Resolution, error) {
	return Resolution{}, u.why
}

func (u unsupported) Get(context.Context, Lookup) (Name, error) { return Name{}, u.why }

func (u unsupported) Entity(context.Context, string, Entity) (EntityInfo, error) {
	return EntityInfo{}, u.why
}

func (u unsupported) List(context.Context, NamesQuery) (NamesPage, error) { return NamesPage{}, u.why }

func (u unsupported) History(context.Context, HistoryQuery) (HistoryPage, error) {
	return HistoryPage{}, u.why
}

func (u unsupported) WhoHeld(context.Context, string, string, time.Time) (Holder, error) {
	return Holder{}, u.why
}

func (u unsupported) Events(context.Context, FeedQuery, bool) (EventPage, error) {
	return EventPage{}, u.why
}

func (u unsupported) Conflicts(context.Context, ConflictsQuery) ([]ConflictBucket, error) {
	return nil, u.why
}

func (u unsupported) Forget(context.Context, ForgetRequest) (Forgetting, error) {
	return Forgetting{}, u.why
}

func (u unsupported) Recanonicalize(context.Context, RecanonicalizeRequest) (Recanonicalization, error) {
	return Recanonicalization{}, u.why
}

func (u unsupported) Stats(context.Context) (Stats, error) { return Stats{}, u.why }

func (u unsupported) Sweep(context.Context, int) (SweepReport, error) { return SweepReport{}, u.why }

func (u unsupported) Close() error { return nil }
