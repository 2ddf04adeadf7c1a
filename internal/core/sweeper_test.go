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
						t.Fatalf("the event is dated %v ago, not at the end of the hold", -got)
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

func TestSweepersAtOnce(t *testing.T) {
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
			t.Error("a limit of 0 is accepted")
		}
	})
}

// The background sweeper asks the witness with growing pauses until it knows, also after an error or a
// panic.
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
					t.Errorf("the witness was asked about %+v", hold)
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
			Namespace: "slug", Value: "alice-bob", TTL: dibs.For(time.Minute), Entity: coretest.Wedding,
			CorrelationID: "order-1", Meta: map[string]string{"cart": "9"},
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute + 10*time.Second)
		name, err := reg.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "alice-bob"})
		if err != nil || name.State != dibs.Suspect || name.Doubt == "" {
			t.Errorf("while the witness does not know: %+v, %v", name, err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Active {
			t.Errorf("at the end the name is %s, want active", got)
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

// A process without a witness for a namespace leaves its suspects to a process that has one, and does
// not read them again at once.
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
			t.Errorf("at once again: %+v, %v; want nothing due", report, err)
		}
		time.Sleep(time.Minute)
		if report, err = with.Sweep(t.Context(), 10); err != nil || report.Settled != 1 {
			t.Errorf("with: %+v, %v", report, err)
		}
	})
}
