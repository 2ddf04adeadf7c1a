package nametest

import (
	"maps"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// Activity tests that everything counts once, whichever of several processes did it, and still
// counts after all of them have restarted.
func Activity(t *testing.T, newHarness func(tb testing.TB) *Harness) {
	t.Helper()
	ctx := t.Context()
	h := newHarness(t)
	cfg := dibs.Config{Policies: map[string]dibs.Policy{}}
	a, b := h.open(t, cfg), h.open(t, cfg)
	apply := func(reg *dibs.Registry, accepted bool, commands ...dibs.Command) []dibs.Result {
		t.Helper()
		results, err := reg.Apply(ctx, commands...)
		if (err == nil) != accepted {
			t.Fatalf("%T: %v", commands[0], err)
		}
		return results
	}
	check := func(reg *dibs.Registry, namespace string, want dibs.ActivityBucket) {
		t.Helper()
		for _, per := range []time.Duration{time.Minute, time.Hour} {
			got, err := reg.Activity(ctx, dibs.ActivityQuery{Namespace: namespace, Per: per})
			if err != nil {
				t.Fatal(err)
			}
			sum := total(got)
			if !maps.Equal(sum.Events, want.Events) || sum.Refused != want.Refused {
				t.Errorf("per %v in %q: %v and %d refused, want %v and %d", per, namespace, sum.Events, sum.Refused, want.Events, want.Refused)
			}
		}
	}

	hold := apply(a, true, dibs.Reserve{Namespace: "slug", Value: "spring"})[0]
	apply(a, true, dibs.Reserve{Namespace: "slug", Value: "summer"}, dibs.Reserve{Namespace: "acme.slug", Value: "summer"})
	apply(a, true, dibs.Confirm{ID: hold.Names[0].ID, Token: hold.Token, Entity: coretest.Wedding})
	if _, err := a.DryRun(ctx, dibs.Reserve{Namespace: "slug", Value: "dry"}); err != nil {
		t.Fatal(err)
	}
	check(a, "slug", dibs.ActivityBucket{Events: map[dibs.EventKind]uint64{"reserved": 2, "confirmed": 1}})
	apply(b, false, dibs.Reserve{Namespace: "slug", Value: "spring"})
	apply(b, false, dibs.Reserve{Namespace: "slug", Value: "spring"}, dibs.Reserve{Namespace: "slug", Value: "summer"})
	apply(b, true, dibs.Archive{Entity: coretest.Wedding})
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	slug := dibs.ActivityBucket{Events: map[dibs.EventKind]uint64{"reserved": 2, "confirmed": 1}, Refused: 3}
	all := dibs.ActivityBucket{Events: map[dibs.EventKind]uint64{"reserved": 3, "confirmed": 1, "archived": 1}, Refused: 3}
	check(b, "slug", slug)
	check(b, "", all)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	c := h.open(t, cfg)
	check(c, "slug", slug)
	check(c, "acme.slug", dibs.ActivityBucket{Events: map[dibs.EventKind]uint64{"reserved": 1}})
	check(c, "", all)
}

// total adds up the buckets of an activity.
func total(a dibs.Activity) dibs.ActivityBucket {
	sum := dibs.ActivityBucket{Events: make(map[dibs.EventKind]uint64)}
	for _, b := range a.Buckets {
		for kind, n := range b.Events {
			sum.Events[kind] += n
		}
		sum.Refused += b.Refused
	}
	return sum
}
