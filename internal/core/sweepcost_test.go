package core_test

import (
	"fmt"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// BenchmarkSweep sweeps lapsed holds in memory, where most of the cost is that of the core.
func BenchmarkSweep(b *testing.B) {
	clock := coretest.NewClock()
	reg := coretest.MustOpen(b, memstore.New(memstore.Config{Now: clock.Now}), dibs.Config{})
	for i := 0; i < b.N; {
		var holds []dibs.Command
		for ; len(holds) < 32 && i < b.N; i++ {
			holds = append(holds, dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("name-", i), Token: coretest.Token1})
		}
		if _, err := reg.Apply(b.Context(), holds...); err != nil {
			b.Fatal(err)
		}
	}
	clock.Advance(dibs.DefaultTTL)
	b.ReportAllocs()
	b.ResetTimer()
	for swept := 0; swept < b.N; {
		report, err := reg.Sweep(b.Context(), 1000)
		if err != nil || report.Changed == 0 {
			b.Fatal(report, err)
		}
		swept += report.Changed
	}
}
