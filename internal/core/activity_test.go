package core_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// activityText returns buckets as lines.
func activityText(t *testing.T, reg *dibs.Registry, query dibs.ActivityQuery) string {
	t.Helper()
	activity, err := reg.Activity(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, b := range activity.Buckets {
		line := b.Start.Format("02T15:04") + " " + b.Namespace
		for _, kind := range slices.Sorted(maps.Keys(b.Events)) {
			line += fmt.Sprintf(" %s=%d", kind, b.Events[kind])
		}
		lines = append(lines, fmt.Sprintf("%s refused=%d", line, b.Refused))
	}
	return strings.Join(lines, "\n")
}

func TestActivityIsCountedByMinuteAndHour(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 10, 58, 30, 0, time.UTC)
	var now atomic.Int64
	at := func(d time.Duration) { now.Store(begin.Add(d).UnixMilli()) }
	at(0)
	store := memstore.New(memstore.Config{Now: func() time.Time { return time.UnixMilli(now.Load()) }})
	reg := coretest.MustOpen(t, store, dibs.Config{})
	check := func(what string, query dibs.ActivityQuery, want ...string) {
		t.Helper()
		if got := activityText(t, reg, query); got != strings.Join(want, "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", what, got, strings.Join(want, "\n"))
		}
	}
	refuse := func() {
		t.Helper()
		if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "spring"}); err == nil {
			t.Fatal("not refused")
		}
	}
	coretest.MustReserve(t, reg, "spring")
	refuse()
	at(time.Minute)
	refuse()
	at(2 * time.Minute)
	refuse()
	check("minutes", dibs.ActivityQuery{}, "01T10:58 slug reserved=1 refused=1", "01T10:59 slug refused=1", "01T11:00 slug refused=1")
	check("hours", dibs.ActivityQuery{Per: time.Hour}, "01T10:00 slug reserved=1 refused=2", "01T11:00 slug refused=1")
	check("a span", dibs.ActivityQuery{From: begin.Add(time.Minute), To: begin.Add(90 * time.Second)}, "01T10:59 slug refused=1")
	check("another namespace", dibs.ActivityQuery{Namespace: "email"})
	check("the future", dibs.ActivityQuery{From: begin.Add(time.Hour)})

	// An event counts when it is recorded. Old minutes and hours are deleted.
	at(4 * time.Hour)
	sweep := func() {
		t.Helper()
		for {
			if report, err := reg.Sweep(t.Context(), 100); err != nil {
				t.Fatal(err)
			} else if !report.More {
				return
			}
		}
	}
	sweep()
	check("later", dibs.ActivityQuery{}, "01T14:58 slug expired=1 refused=0")
	if err := reg.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestActivityIsDeletedWithItsTime(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	begin := time.Date(2026, 3, 1, 10, 58, 0, 0, time.UTC)
	now.Store(begin.UnixMilli())
	store := memstore.New(memstore.Config{Now: func() time.Time { return time.UnixMilli(now.Load()) }})
	kept := func() int {
		t.Helper()
		docs, err := store.List(t.Context(), dibs.ListQuery{Kind: dibs.KindActivity, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		return len(docs)
	}
	first := coretest.MustOpen(t, unclosed{store}, dibs.Config{})
	claimSpring(t, first)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	reg := coretest.MustOpen(t, store, dibs.Config{})
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 2}, {2 * time.Hour, 2}, {2*time.Hour + time.Minute, 1}, {8 * 24 * time.Hour, 1}, {8*24*time.Hour + time.Hour, 0}} {
		now.Store(begin.Add(c.after).UnixMilli())
		if _, err := reg.Sweep(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		if got := kept(); got != c.want {
			t.Errorf("after %v there are %d records, want %d", c.after, got, c.want)
		}
	}
}

func claimSpring(t *testing.T, reg *dibs.Registry) {
	t.Helper()
	if _, err := reg.Apply(t.Context(), coretest.Claim("slug", "spring", coretest.Wedding)); err != nil {
		t.Fatal(err)
	}
}

// unclosed is a store that stays open.
type unclosed struct{ dibs.Store }

func (unclosed) Close() error { return nil }

// Made-up namespaces do not make more records than the bound.
func TestActivityIsBounded(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	reg := coretest.MustOpen(t, store, dibs.Config{})
	const tenants, each = 3, 400
	for i := range tenants {
		for j := range each {
			namespace := fmt.Sprintf("t%d.n%d", i, j)
			if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: namespace, Value: "x", Entity: coretest.Wedding}); err != nil {
				t.Fatal(err)
			}
		}
	}
	activity, err := reg.Activity(t.Context(), dibs.ActivityQuery{Per: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var sum uint64
	namespaces := make(map[string]bool)
	for _, b := range activity.Buckets {
		sum += b.Events[dibs.EventClaimed]
		namespaces[b.Namespace] = true
	}
	if sum != tenants*each || len(namespaces) > 2*260 {
		t.Errorf("%d events in %d namespaces, want %d in at most 520", sum, len(namespaces), tenants*each)
	}
	for _, want := range []string{"t0.n0", "t0.*", "t2.*"} {
		if !namespaces[want] {
			t.Errorf("there are no counts of %s", want)
		}
	}
}

// Counts that cannot be stored are kept, and shown meanwhile.
func TestActivityOutlastsAFailure(t *testing.T) {
	t.Parallel()
	store := &refusing{Store: memstore.New(memstore.Config{})}
	reg := coretest.MustOpen(t, unclosed{store}, dibs.Config{})
	claimSpring(t, reg)
	store.refuses.Store(true)
	if got := activityText(t, reg, dibs.ActivityQuery{Per: time.Hour}); !strings.Contains(got, "claimed=1") {
		t.Errorf("while the engine refuses commits: %s", got)
	}
	store.refuses.Store(false)
	if err := reg.Close(); err != nil {
		t.Fatal(err)
	}
	if got := activityText(t, coretest.MustOpen(t, store, dibs.Config{}), dibs.ActivityQuery{Per: time.Hour}); !strings.Contains(got, "claimed=1") {
		t.Errorf("after a restart: %s", got)
	}
}

// refusing is a store whose commits can be made to fail.
type refusing struct {
	dibs.Store
	refuses atomic.Bool
}

func (r *refusing) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if r.refuses.Load() {
		return nil, dibs.ErrUnavailable
	}
	return r.Store.Commit(ctx, groups)
}

func TestActivityRefusesOtherSpans(t *testing.T) {
	t.Parallel()
	reg := coretest.MustOpen(t, memstore.New(memstore.Config{}), dibs.Config{})
	for _, query := range []dibs.ActivityQuery{{Per: time.Second}, {Per: -time.Minute}, {Namespace: "Not A Namespace"}} {
		if _, err := reg.Activity(t.Context(), query); err == nil {
			t.Errorf("%+v is accepted", query)
		}
	}
}
