package storetest

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
)

func brokenAwaits() []broken {
	return []broken{
		{must: "await-commits", how: "returns at once", apply: func(f *fake, _ *Clock) {
			f.await = func(context.Context, []dibs.Ref, dibs.Instant) error { return nil }
		}},
		{must: "await-commits", how: "waits only for commits of its own handle", apply: func(f *fake, _ *Clock) {
			good := f.commit
			var own atomic.Int32
			f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
				own.Add(1)
				defer own.Add(-1)
				return good(ctx, groups)
			}
			await := f.await
			f.await = func(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
				if own.Load() == 0 {
					return nil
				}
				return await(ctx, refs, end)
			}
		}},
		{must: "await-commits", how: "gives up without an error", apply: func(f *fake, _ *Clock) {
			good := f.await
			f.await = func(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
				_ = good(ctx, refs, end)
				return nil
			}
		}},
		{must: "await-commits", how: "fails when no commit is in progress", apply: func(f *fake, _ *Clock) {
			good := f.await
			f.await = func(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
				found, err := f.load(ctx, refs)
				if err != nil || len(found.Records) < len(refs) {
					return dibs.Unavailable(err)
				}
				return good(ctx, refs, end)
			}
		}},
		{must: "await-deadline", how: "ignores its deadline", apply: func(f *fake, _ *Clock) {
			good := f.await
			f.await = func(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shortly+2*brokenPatience)
				defer cancel()
				return good(ctx, refs, end)
			}
		}},
		{must: "await-clock", how: "ignores the clock", apply: func(f *fake, _ *Clock) {
			good := f.await
			f.await = func(ctx context.Context, refs []dibs.Ref, _ dibs.Instant) error { return good(ctx, refs, 0) }
		}},
		{must: "await-clock", how: "returns a millisecond early", apply: func(f *fake, _ *Clock) {
			good := f.await
			f.await = func(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error { return good(ctx, refs, end-1) }
		}},
	}
}

func brokenBusy() []broken {
	return []broken{
		{must: "commit-busy", how: "commits despite the lock", apply: func(f *fake, _ *Clock) { f.commit = f.data.Commit }},
		{must: "commit-busy", how: "waits", apply: busy(func(ctx context.Context, f *fake, groups []dibs.Group) []dibs.Outcome {
			for slices.ContainsFunc(groups[0].Reads, f.holds) {
				time.Sleep(time.Millisecond)
			}
			outcomes, _ := f.data.Commit(ctx, groups)
			return outcomes
		})},
		{must: "commit-busy", how: "returns Stale instead", apply: busy(func(_ context.Context, _ *fake, groups []dibs.Group) []dibs.Outcome {
			return make([]dibs.Outcome, len(groups))
		})},
		{must: "commit-busy", how: "blocks until the lock is released", apply: func(f *fake, _ *Clock) {
			good, wasBusy := f.commit, false
			f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
				outcomes, err := good(ctx, groups)
				if wasBusy = wasBusy || slices.Contains(outcomes, dibs.Busy); wasBusy {
					outcomes = slices.Repeat([]dibs.Outcome{dibs.Busy}, len(groups))
				}
				return outcomes, err
			}
		}},
		{must: "commit-busy", how: "keeps the events of a busy group", apply: leaking(func(g dibs.Group) dibs.Group {
			return dibs.Group{Events: g.Events}
		})},
		{must: "commit-busy", how: "keeps the first write of a busy group", apply: leaking(func(g dibs.Group) dibs.Group {
			return dibs.Group{Writes: g.Writes[:1]}
		})},
	}
}

// busy breaks what Commit does once a group is busy.
func busy(instead func(ctx context.Context, f *fake, groups []dibs.Group) []dibs.Outcome) breakage {
	return func(f *fake, _ *Clock) {
		good := f.commit
		f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
			outcomes, err := good(ctx, groups)
			if slices.Contains(outcomes, dibs.Busy) {
				return instead(ctx, f, groups), nil
			}
			return outcomes, err
		}
	}
}
