package dibs

import (
	"context"
	"time"
)

// FailingBackend returns a backend whose every call returns err, such as that of a Registry
// which was bound to a transaction that it cannot join.
func FailingBackend(err error) Backend { return failing{err} }

type failing struct{ why error }

func (u failing) Apply(context.Context, ApplyRequest) ([]Result, error) { return nil, u.why }

func (u failing) Check(context.Context, CheckRequest) ([]Availability, error) { return nil, u.why }

func (u failing) Resolve(context.Context, string, string) (Resolution, error) {
	return Resolution{}, u.why
}

func (u failing) Get(context.Context, Lookup) (Name, error) { return Name{}, u.why }

func (u failing) Entity(context.Context, string, Entity) (EntityInfo, error) {
	return EntityInfo{}, u.why
}

func (u failing) List(context.Context, NamesQuery) (NamesPage, error) { return NamesPage{}, u.why }

func (u failing) History(context.Context, HistoryQuery) (HistoryPage, error) {
	return HistoryPage{}, u.why
}

func (u failing) WhoHeld(context.Context, string, string, time.Time) (Holder, error) {
	return Holder{}, u.why
}

func (u failing) Events(context.Context, FeedQuery, bool) (EventPage, error) {
	return EventPage{}, u.why
}

func (u failing) Conflicts(context.Context, ConflictsQuery) ([]ConflictBucket, error) {
	return nil, u.why
}

func (u failing) Forget(context.Context, ForgetRequest) (Forgetting, error) {
	return Forgetting{}, u.why
}

func (u failing) Recanonicalize(context.Context, RecanonicalizeRequest) (Recanonicalization, error) {
	return Recanonicalization{}, u.why
}

func (u failing) Stats(context.Context) (Stats, error) { return Stats{}, u.why }

func (u failing) Sweep(context.Context, int) (SweepReport, error) { return SweepReport{}, u.why }

func (u failing) Close() error { return nil }
