package storetest

import (
	"context"
	"sync/atomic"

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
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shortly+2*patience)
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
