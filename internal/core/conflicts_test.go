package core_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

func TestConflictsAreCountedByNamespaceReasonAndHour(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	clock := time.Date(2026, 3, 1, 10, 59, 0, 0, time.UTC)
	now.Store(clock.UnixMilli())
	store := memstore.New(memstore.Config{Now: func() time.Time { return time.UnixMilli(now.Load()) }})
	reg := coretest.MustOpen(t, store, dibs.Config{})
	ctx := t.Context()
	hold := coretest.MustReserve(t, reg, "alice-bob")
	refuse := func(times int, commands ...dibs.Command) {
		t.Helper()
		for range times {
			if _, err := reg.Apply(ctx, commands...); err == nil {
				t.Fatal("not refused")
			}
		}
	}
	refuse(3, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	refuse(2, dibs.Confirm{ID: hold.ID, Token: dibs.NewToken(), Entity: coretest.Wedding})
	refuse(1, dibs.Reserve{Namespace: "slug", Value: ""})
	refuse(1, dibs.Reserve{Namespace: "slug", Value: "alice-bob"}, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	if _, err := reg.DryRun(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"}); err == nil {
		t.Fatal("not refused")
	}
	now.Store(clock.Add(2 * time.Minute).UnixMilli())
	refuse(1, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})

	show := func(query dibs.ConflictsQuery) string {
		t.Helper()
		buckets, err := reg.Conflicts(ctx, query)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, b := range buckets {
			lines = append(lines, fmt.Sprintf("%s %s %s %d", b.Start.Format("15:04"), b.Namespace, b.Reason, b.Count))
		}
		return strings.Join(lines, "\n")
	}
	want := "10:00 slug held 5\n10:00 slug invalid_value 1\n10:00 slug reservation_lost 2\n11:00 slug held 1"
	if got := show(dibs.ConflictsQuery{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := show(dibs.ConflictsQuery{Namespace: "email"}); got != "" {
		t.Errorf("another namespace: %s", got)
	}
	if got := show(dibs.ConflictsQuery{From: clock.Add(time.Minute)}); !strings.HasPrefix(got, "11:00") {
		t.Errorf("from eleven: %s", got)
	}
	if got := show(dibs.ConflictsQuery{To: clock.Add(time.Minute)}); strings.Contains(got, "11:00") {
		t.Errorf("until eleven: %s", got)
	}
	// Counters continue after they are read, and are deleted after ConflictHistory.
	refuse(1, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	if got := show(dibs.ConflictsQuery{From: clock.Add(time.Minute)}); !strings.Contains(got, "held 2") {
		t.Errorf("one more: %s", got)
	}
	now.Store(clock.Add(91 * 24 * time.Hour).UnixMilli())
	if _, err := reg.Sweep(ctx, 100); err != nil {
		t.Fatal(err)
	}
	if got := show(dibs.ConflictsQuery{}); got != "" {
		t.Errorf("after 91 days: %s", got)
	}
}

// Refusals in made-up namespaces do not fill memory or disk.
func TestConflictsAreBounded(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{Now: coretest.NewClock().Now}) // one hour
	reg := coretest.MustOpen(t, store, dibs.Config{})
	var buckets []dibs.ConflictBucket
	for i := range 5000 {
		_, _ = reg.Reserve(t.Context(), dibs.Reserve{Namespace: fmt.Sprintf("made-up-%d", i), Value: ""})
		if i%1000 == 999 { // also over several flushes
			var err error
			if buckets, err = reg.Conflicts(t.Context(), dibs.ConflictsQuery{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var sum uint64
	for _, b := range buckets {
		sum += b.Count
	}
	if len(buckets) > 1100 || sum != 5000 {
		t.Errorf("%d counters with %d refusals, want about a thousand with 5000", len(buckets), sum)
	}
}

// A tenant that makes up namespaces, and scopes below its own, does not use up the counters of other
// tenants. If many tenants do so, each other tenant still has one counter.
func TestConflictsAreBoundedByTenant(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{Now: coretest.NewClock().Now}) // one hour
	reg := coretest.MustOpen(t, store, dibs.Config{})
	refuse := func(namespace string) {
		if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: namespace, Value: ""}); err == nil {
			t.Fatal("not refused")
		}
	}
	count := func(namespace string) (n uint64) {
		t.Helper()
		buckets, err := reg.Conflicts(t.Context(), dibs.ConflictsQuery{Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range buckets {
			n += b.Count
		}
		return n
	}
	fill := func(tenant string) {
		for i := range 600 {
			refuse(fmt.Sprintf("%s.n%d", tenant, i))
			refuse(fmt.Sprintf("%s.s%d.slug", tenant, i))
		}
	}
	fill("acme")
	refuse("globex.slug")
	refuse("slug")
	if globex, plain := count("globex.slug"), count("slug"); globex != 1 || plain != 1 {
		t.Errorf("after the made-up namespaces of acme, globex has %d and the namespaces without a scope %d, want 1 and 1", globex, plain)
	}
	if rest := count("acme.*"); rest != 1200-1024 {
		t.Errorf("acme has %d refusals in its common counter, want %d", rest, 1200-1024)
	}
	for i := range 4 {
		fill(fmt.Sprint("other", i))
	}
	refuse("late.slug")
	if rest := count("late.*"); rest != 1 {
		t.Errorf("late has %d, want 1", rest)
	}
	if all := count(""); all != 5*1200+3 {
		t.Errorf("there are %d in all, want %d", all, 5*1200+3)
	}
}

// countedList counts the records that an engine lists.
type countedList struct {
	dibs.Store
	listed int
}

func (s *countedList) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	records, err := s.Store.List(ctx, query)
	s.listed += len(records)
	return records, err
}

// Conflicts of few hours or of one namespace do not read all counters.
func TestConflictsReadWhatIsAsked(t *testing.T) {
	t.Parallel()
	const namespaces = 300
	hours := 20
	if testing.Short() {
		hours = 4
	}
	clock := coretest.NewClock()
	first := clock.Now()
	store := &countedList{Store: memstore.New(memstore.Config{Now: clock.Now})}
	reg := coretest.MustOpen(t, store, dibs.Config{})
	if _, err := reg.Claim(t.Context(), coretest.Claim("slug", "alice-bob", coretest.Wedding)); err != nil {
		t.Fatal(err)
	}
	for range hours {
		if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "alice-bob", Token: coretest.Token1}); err == nil {
			t.Fatal("not refused")
		}
		for i := range namespaces {
			for _, namespace := range []string{fmt.Sprint("slug-", i), fmt.Sprint("slug", i), fmt.Sprint("a.slug", i)} {
				if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: namespace, Value: ""}); err == nil {
					t.Fatal("not refused")
				}
			}
		}
		if _, err := reg.Conflicts(t.Context(), dibs.ConflictsQuery{From: clock.Now(), Namespace: "none"}); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Hour)
	}
	for name, c := range map[string]struct {
		query       dibs.ConflictsQuery
		want, reads int
	}{
		"all":                         {dibs.ConflictsQuery{}, hours * (1 + 3*namespaces), hours * (1 + 3*namespaces)},
		"two hours":                   {dibs.ConflictsQuery{From: first.Add(time.Hour), To: first.Add(3 * time.Hour)}, 2 * (1 + 3*namespaces), 2 * (1 + 3*namespaces)},
		"a namespace":                 {dibs.ConflictsQuery{Namespace: "slug"}, hours, (hours + 2) * 100},
		"a namespace in two hours":    {dibs.ConflictsQuery{Namespace: "slug", From: first, To: first.Add(2 * time.Hour)}, 2, 4 * 100},
		"a namespace with neighbours": {dibs.ConflictsQuery{Namespace: "slug7"}, hours, (hours + 2) * 100},
		"no namespace":                {dibs.ConflictsQuery{Namespace: "zzz"}, 0, (hours + 2) * 100},
	} {
		store.listed = 0
		buckets, err := reg.Conflicts(t.Context(), c.query)
		if err != nil || len(buckets) != c.want {
			t.Errorf("%s: %d buckets, want %d (%v)", name, len(buckets), c.want, err)
		}
		if store.listed > c.reads {
			t.Errorf("%s: %d counters read, want at most %d", name, store.listed, c.reads)
		}
	}
}
