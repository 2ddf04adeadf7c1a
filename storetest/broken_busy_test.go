package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

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
