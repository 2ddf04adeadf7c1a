package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
)

// refusing breaks the error of a closed or cut-off store.
func refusing(answer func(err error) error) breakage {
	return func(f *fake, _ *Clock) {
		good := f.before
		f.before = func(ctx context.Context, method string) (context.Context, error) {
			ctx, err := good(ctx, method)
			if err != nil {
				err = answer(err)
			}
			return ctx, err
		}
	}
}

// concurrently breaks the answer to a Commit that runs while another one does.
func concurrently(outcomes []dibs.Outcome, err error) breakage {
	return func(f *fake, _ *Clock) {
		good := f.commit
		var busy atomic.Int32
		f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
			defer busy.Add(-1)
			if busy.Add(1) > 1 {
				return outcomes, err
			}
			time.Sleep(moment)
			return good(ctx, groups)
		}
	}
}

func brokenLives() []broken {
	stores := []broken{
		{must: "concurrent", how: "fails when calls run concurrently", apply: concurrently(nil, errors.New("database is locked"))},
		{must: "concurrent", how: "loses a concurrent commit", apply: concurrently([]dibs.Outcome{dibs.Committed}, nil)},
		{must: "unavailable", how: "returns the driver's error", apply: refusing(func(error) error { return errors.New("connection refused") })},
		{must: "unavailable", how: "says that the outcome is unknown", apply: refusing(func(err error) error { return dibs.OutcomeUnknown(err) })},
		{must: "unavailable", how: "says both", apply: refusing(func(err error) error { return errors.Join(err, dibs.OutcomeUnknown(err)) })},
		{must: "closed", how: "returns the driver's error", apply: refusing(func(error) error { return errors.New("sql: database is closed") })},
		{must: "cancelled", how: "commits and then returns an error", apply: func(f *fake, _ *Clock) {
			f.before = func(ctx context.Context, _ string) (context.Context, error) { return ctx, nil }
			good := f.commit
			f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
				outcomes, err := good(context.WithoutCancel(ctx), groups)
				return outcomes, errors.Join(err, ctx.Err())
			}
		}},
		{must: "cancelled", how: "says that it is unavailable", apply: refusing(func(error) error { return dibs.Unavailable(nil) })},
		{must: "close-twice", how: "fails the second time", apply: func(f *fake, _ *Clock) {
			var once atomic.Bool
			f.close = func() error {
				if once.Swap(true) {
					return dibs.ErrClosed
				}
				return nil
			}
		}},
	}
	for _, method := range []string{"Load", "Commit", "Due", "Owned", "List", "Events"} {
		stores = append(stores,
			broken{must: "closed", how: method + " still works", apply: func(f *fake, _ *Clock) {
				good := f.before
				f.before = func(ctx context.Context, m string) (context.Context, error) {
					if m == method {
						return ctx, nil
					}
					return good(ctx, m)
				}
			}},
			broken{must: "cancelled", how: method + " still works", apply: func(f *fake, _ *Clock) {
				good := f.before
				f.before = func(ctx context.Context, m string) (context.Context, error) {
					if m == method {
						ctx = context.WithoutCancel(ctx)
					}
					return good(ctx, m)
				}
			}})
	}
	return stores
}
