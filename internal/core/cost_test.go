package core_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// A call on memstore allocates little. The bounds are what was measured, and a few more.
func TestAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, pools lose what they have")
	}
	ctx := context.Background()
	reg := coretest.MustOpen(t, memstore.New(memstore.Config{}), dibs.Config{Suggestions: -1})
	must := func(_ any, err error) {
		if err != nil {
			t.Helper()
			t.Error(err)
		}
	}
	const runs = 200
	var names, holds [runs + 1]string // AllocsPerRun runs once more, to warm up
	var entities [runs + 1]dibs.Entity
	for i := range names {
		names[i], holds[i] = fmt.Sprint("name-", i), fmt.Sprint("hold-", i)
		entities[i] = dibs.Entity{Type: "user", ID: strconv.Itoa(i)}
		must(reg.Reserve(ctx, coretest.Reserve("slug", holds[i], coretest.Token1)))
	}
	must(reg.Claim(ctx, coretest.Claim("slug", "taken", coretest.Wedding)))
	for _, c := range []struct {
		what string
		most float64
		call func(i int)
	}{
		{"reserve", 31, func(i int) { must(reg.Reserve(ctx, coretest.Reserve("slug", names[i], coretest.Token1))) }},
		{"confirm", 48, func(i int) {
			must(reg.Confirm(ctx, dibs.Confirm{ID: dibs.NameID("slug", holds[i]), Token: coretest.Token1, Entity: entities[i]}))
		}},
		{"refused reserve", 36, func(int) {
			if _, err := reg.Reserve(ctx, coretest.Reserve("slug", "taken", coretest.Token1)); err == nil {
				t.Error("a taken name was reserved")
			}
		}},
		{"resolve", 22, func(int) { must(reg.Resolve(ctx, "slug", "taken")) }},
		{"check", 32, func(int) { must(reg.Check(ctx, dibs.CheckRequest{Namespace: "slug", Values: []string{"taken"}})) }},
	} {
		i := -1
		count := testing.AllocsPerRun(runs, func() { i++; c.call(i) })
		t.Logf("%s: %v", c.what, count)
		if count > c.most {
			t.Errorf("%s: %v allocations, want at most %v", c.what, count, c.most)
		}
	}
}

// benchmark calls work b.N times, by a number of callers at once.
func benchmark(b *testing.B, callers int, work func(i int) error) {
	b.Helper()
	var (
		next  atomic.Int64
		group sync.WaitGroup
	)
	b.ReportAllocs()
	b.ResetTimer()
	for range callers {
		group.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := work(int(i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkReserve(b *testing.B) {
	for _, callers := range []int{1, 256} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			reg := coretest.MustOpen(b, memstore.New(memstore.Config{}), dibs.Config{})
			benchmark(b, callers, func(i int) error {
				_, err := reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: strconv.Itoa(i)})
				return err
			})
		})
	}
}

// BenchmarkStampede is a race of 10,000 callers for one name.
func BenchmarkStampede(b *testing.B) {
	reg := coretest.MustOpen(b, memstore.New(memstore.Config{}), dibs.Config{})
	for race := 0; b.Loop(); race++ {
		var (
			won   atomic.Int64
			group sync.WaitGroup
			start = make(chan struct{})
		)
		for range 10_000 {
			group.Go(func() {
				<-start
				if _, err := reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: strconv.Itoa(race)}); err == nil {
					won.Add(1)
				}
			})
		}
		close(start)
		group.Wait()
		if won.Load() != 1 {
			b.Fatalf("%d callers won", won.Load())
		}
	}
}
