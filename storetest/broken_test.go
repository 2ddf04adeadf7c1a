package storetest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// broken is a store that breaks one must, in one of the ways engines do.
type broken struct {
	must    string
	how     string
	apply   breakage
	harness func(h *Harness) // breaks the harness instead, for data lost between stores
}

func brokenStores() []broken {
	return slices.Concat(brokenLoads(), brokenFields(), brokenCommits(), brokenBusy(), brokenAwaits(), brokenGroups(), brokenForgetting(), brokenScans(), brokenLists(),
		brokenEvents(), brokenLives(), brokenDisks())
}

// Each broken store must fail a case of the must that it breaks.
func TestBrokenStoresFail(t *testing.T) {
	t.Parallel()
	for _, b := range brokenStores() {
		t.Run(b.must+"/"+b.how, func(t *testing.T) {
			t.Parallel()
			harness := fakes(b.apply)
			if b.harness != nil {
				b.harness(&harness)
			}
			for _, c := range cases {
				if !slices.Contains(c.ids(), b.must) {
					continue
				}
				if failures := try(t, c, harness); len(failures) > 0 {
					t.Logf("fails %q: %s", c.name, failures[0])
					return
				}
			}
			t.Errorf("no case of [%s] fails", b.must)
		})
	}
}

func TestEveryMustHasABrokenStore(t *testing.T) {
	t.Parallel()
	ids := contract(t)
	covered := make(map[string]bool)
	for _, b := range brokenStores() {
		covered[b.must] = true
		if !slices.Contains(ids, b.must) {
			t.Errorf("a store breaks [%s], which is not in store.go", b.must)
		}
	}
	for _, id := range ids {
		if !covered[id] {
			t.Errorf("[%s] in store.go has no store that breaks it", id)
		}
	}
}

func brokenForgetting() []broken {
	renewing := func(change func(w *dibs.Write)) breakage {
		return committing(func(g *dibs.Group) {
			for i := range g.Writes {
				if g.Writes[i].Renew {
					change(&g.Writes[i])
				}
			}
		})
	}
	redacting := func(change func(g *dibs.Group)) breakage {
		return committing(func(g *dibs.Group) {
			if len(g.Redacts) > 0 {
				change(g)
			}
		})
	}
	return []broken{
		{must: "commit-renew", how: "keeps the events", apply: renewing(func(w *dibs.Write) { w.Renew = false })},
		{must: "commit-renew", how: "deletes the record", apply: renewing(func(w *dibs.Write) { w.Renew, w.Delete = false, true })},
		{must: "commit-renew", how: "loses the events of the group", apply: committing(func(g *dibs.Group) {
			if slices.ContainsFunc(g.Writes, func(w dibs.Write) bool { return w.Renew }) {
				g.Events = nil
			}
		})},
		{must: "commit-redact", how: "redacts nothing", apply: redacting(func(g *dibs.Group) { g.Redacts = nil })},
		{must: "commit-redact", how: "redacts only the first event", apply: redacting(func(g *dibs.Group) { g.Redacts = g.Redacts[:1] })},
		{must: "commit-redact", how: "appends the redacted event again", apply: redacting(func(g *dibs.Group) {
			g.Events, g.Redacts = append(g.Events, g.Redacts...), nil
		})},
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
