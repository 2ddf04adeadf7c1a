package core_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

func TestSweeperRunsInTheBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := coretest.OpenMem(t, dibs.Config{SweepEvery: time.Minute})
		for i := range 1500 { // more than one batch
			coretest.MustReserve(t, reg, fmt.Sprint("name-", i))
		}
		time.Sleep(dibs.DefaultTTL + 2*time.Minute)
		synctest.Wait()
		page, err := reg.Events(t.Context(), dibs.FeedQuery{Limit: 1000})
		expired := 0
		for err == nil && len(page.Events) > 0 {
			for _, e := range page.Events {
				if e.Kind == dibs.EventExpired {
					expired++
					if got := e.At.Sub(dibs.InstantOf(time.Now())); got > -time.Minute {
						t.Fatalf("the expiry is dated %v ago, not when it fell due", -got)
					}
				}
			}
			page, err = reg.Events(t.Context(), dibs.FeedQuery{After: page.Next, Limit: 1000})
		}
		if err != nil || expired != 1500 {
			t.Errorf("%d holds expired by sweeping, want 1500 (%v)", expired, err)
		}
	})
}

func TestManySweepersAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Config{})
		regs := []*dibs.Registry{coretest.MustOpen(t, store, dibs.Config{}), coretest.MustOpen(t, store, dibs.Config{}), coretest.MustOpen(t, store, dibs.Config{})}
		for i := range 300 {
			coretest.MustReserve(t, regs[0], fmt.Sprint("name-", i))
		}
		time.Sleep(dibs.DefaultTTL)
		var changed atomic.Int64
		done := make(chan error)
		for _, reg := range regs {
			go func() {
				report, err := reg.Sweep(t.Context(), 1000)
				changed.Add(int64(report.Changed))
				done <- err
			}()
		}
		for range regs {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if changed.Load() != 300 {
			t.Errorf("three sweepers changed %d names together, want each of 300 once", changed.Load())
		}
	})
}

func TestSweepStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := coretest.OpenMem(t, dibs.Config{})
		for i := range 10 {
			coretest.MustReserve(t, reg, fmt.Sprint("name-", i))
		}
		time.Sleep(dibs.DefaultTTL)
		first, err := reg.Sweep(t.Context(), 7)
		if err != nil || first.Changed != 7 || !first.More {
			t.Fatalf("first %+v, %v", first, err)
		}
		second, err := reg.Sweep(t.Context(), 7)
		if err != nil || second.Changed != 3 || second.More {
			t.Fatalf("second %+v, %v", second, err)
		}
		if _, err := reg.Sweep(t.Context(), 0); err == nil {
			t.Error("a limit of nothing was taken")
		}
	})
}

// The witness is asked again with growing pauses until it knows.
func TestWitnessIsAskedWithGrowingPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var asked []time.Duration
		reg := coretest.OpenMem(t, dibs.Config{
			SweepEvery: time.Second,
			Policies: map[string]dibs.Policy{"slug": {Witness: func(_ context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
				asked = append(asked, time.Since(start))
				if hold.Namespace != "slug" || hold.Canonical != "alice-bob" || hold.Entity != coretest.Wedding ||
					hold.CorrelationID != "order-1" || hold.Epoch != 1 || hold.Meta["cart"] != "9" {
					t.Errorf("the witness was told %+v", hold)
				}
				switch len(asked) {
				case 1:
					return dibs.Unknown, nil
				case 2:
					return dibs.Unknown, errors.New("down for maintenance")
				case 3:
					panic("a bug in the witness")
				default:
					return dibs.Exists(coretest.Wedding), nil
				}
			}}},
		})
		_, err := reg.Reserve(t.Context(), dibs.Reserve{
			Namespace: "slug", Value: "alice-bob", TTL: dibs.For(coretest.Minute), Entity: coretest.Wedding,
			CorrelationID: "order-1", Meta: map[string]string{"cart": "9"},
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(coretest.Minute + 10*time.Second)
		name, err := reg.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "alice-bob"})
		if err != nil || name.State != dibs.Suspect || name.Doubt == "" {
			t.Errorf("while the witness does not know: %+v, %v", name, err)
		}
		time.Sleep(5 * coretest.Minute)
		synctest.Wait()
		if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Active {
			t.Errorf("in the end the name is %s", got)
		}
		if len(asked) != 4 {
			t.Fatalf("asked at %v", asked)
		}
		for i := 1; i < len(asked)-1; i++ {
			if before, after := asked[i]-asked[i-1], asked[i+1]-asked[i]; after <= before {
				t.Errorf("asked at %v: the pauses do not grow", asked)
			}
		}
	})
}

func TestWitnessVerdicts(t *testing.T) {
	t.Parallel()
	other := dibs.Entity{Type: "wedding", ID: "43"}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, reg *dibs.Registry)
		verdict dibs.Verdict
		want    dibs.State
		doubt   bool
	}{
		"exists":                       {verdict: dibs.Exists(coretest.Wedding), want: dibs.Active},
		"absent":                       {verdict: dibs.Absent, want: dibs.Free},
		"unknown":                      {verdict: dibs.Unknown, want: dibs.Suspect, doubt: true},
		"another entity than reserved": {verdict: dibs.Exists(other), want: dibs.Suspect, doubt: true},
		"no valid entity":              {verdict: dibs.Exists(dibs.Entity{Type: "wedding"}), want: dibs.Suspect, doubt: true},
		"the entity has a name": {
			prepare: func(t *testing.T, reg *dibs.Registry) {
				if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "older", Entity: coretest.Wedding}); err != nil {
					t.Fatal(err)
				}
			},
			verdict: dibs.Exists(coretest.Wedding), want: dibs.Suspect, doubt: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := coretest.OpenMem(t, dibs.Config{Policies: map[string]dibs.Policy{
					"slug": {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return test.verdict, nil }},
				}})
				if test.prepare != nil {
					test.prepare(t, reg)
				}
				if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "alice-bob", Entity: coretest.Wedding}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(dibs.DefaultTTL)
				report, err := reg.Sweep(t.Context(), 10)
				if err != nil || report.Suspects != 1 || (report.Settled == 1) != (test.want != dibs.Suspect) {
					t.Errorf("Sweep = %+v, %v", report, err)
				}
				got, err := reg.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "alice-bob"})
				if err != nil || got.State != test.want || (got.Doubt != "") != test.doubt {
					t.Errorf("the name is %s (doubt %q), want %s; %v", got.State, got.Doubt, test.want, err)
				}
			})
		})
	}
}

// A process that has no witness for a namespace must not keep suspects from one
// that has, nor stand in its own way.
func TestSweepWithoutTheWitness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Config{})
		with := coretest.MustOpen(t, store, dibs.Config{Policies: map[string]dibs.Policy{
			"slug": {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return dibs.Absent, nil }},
		}})
		without := coretest.MustOpen(t, store, dibs.Config{})
		coretest.MustReserve(t, with, "alice-bob")
		time.Sleep(dibs.DefaultTTL)
		report, err := without.Sweep(t.Context(), 10)
		if err != nil || report.Suspects != 1 || report.Settled != 0 {
			t.Errorf("without: %+v, %v", report, err)
		}
		if report, err = without.Sweep(t.Context(), 10); err != nil || report.Looked != 0 {
			t.Errorf("at once again: %+v, %v; it should have a rest", report, err)
		}
		time.Sleep(time.Minute)
		if report, err = with.Sweep(t.Context(), 10); err != nil || report.Settled != 1 {
			t.Errorf("with: %+v, %v", report, err)
		}
	})
}
