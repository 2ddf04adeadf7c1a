package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

func brokenBusy() []broken {
	return []broken{
		{must: "commit-busy", how: "does not mind", bend: func(f *fake, _ *Clock) { f.commit = f.data.Commit }},
		{must: "commit-busy", how: "waits", bend: busy(func(ctx context.Context, f *fake, groups []dibs.Group) []dibs.Outcome {
			for slices.ContainsFunc(groups[0].Reads, f.holds) {
				time.Sleep(time.Millisecond)
			}
			outcomes, _ := f.data.Commit(ctx, groups)
			return outcomes
		})},
		{must: "commit-busy", how: "calls it stale", bend: busy(func(_ context.Context, _ *fake, groups []dibs.Group) []dibs.Outcome {
			return make([]dibs.Outcome, len(groups))
		})},
		{must: "commit-busy", how: "holds up everybody", bend: func(f *fake, _ *Clock) {
			good, wasBusy := f.commit, false
			f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
				outcomes, err := good(ctx, groups)
				if wasBusy = wasBusy || slices.Contains(outcomes, dibs.Busy); wasBusy {
					outcomes = slices.Repeat([]dibs.Outcome{dibs.Busy}, len(groups))
				}
				return outcomes, err
			}
		}},
		{must: "commit-busy", how: "tells of what did not happen", bend: leaking(func(g dibs.Group) dibs.Group {
			return dibs.Group{Events: g.Events}
		})},
		{must: "commit-busy", how: "leaves the first write behind", bend: leaking(func(g dibs.Group) dibs.Group {
			return dibs.Group{Writes: g.Writes[:1]}
		})},
	}
}

// busy bends what Commit does once a group is busy.
func busy(instead func(ctx context.Context, f *fake, groups []dibs.Group) []dibs.Outcome) bend {
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
