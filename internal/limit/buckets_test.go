package limit_test

import (
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/limit"
)

// clock is a time that stands still until it is moved.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() time.Time       { return time.Unix(1_800_000_000, c.now.Load()) }
func (c *clock) pass(d time.Duration) { c.now.Add(int64(d)) }

func newBuckets(n int, per time.Duration) (*limit.Buckets[string], *clock) {
	b, c := limit.NewBuckets[string](limit.Rate{N: n, Per: per}), new(clock)
	limit.SetClock(b, c.Now)
	return b, c
}

// All of a rate may come at once, and comes back evenly; nobody takes from anybody else.
func TestBuckets(t *testing.T) {
	t.Parallel()
	const s = time.Second
	b, c := newBuckets(10, s)
	for i, step := range []struct {
		pass time.Duration
		key  string
		n    int
		want limit.Verdict
	}{
		{0, "a", 1, limit.Verdict{OK: true, Left: 9, Wait: s / 10}},
		{0, "a", 4, limit.Verdict{OK: true, Left: 5, Wait: s / 2}},
		{0, "a", 6, limit.Verdict{Left: 5, Wait: s / 10}}, // all or none
		{0, "a", 5, limit.Verdict{OK: true, Left: 0, Wait: s}},
		{0, "a", 1, limit.Verdict{Left: 0, Wait: s / 10}},
		{0, "b", 10, limit.Verdict{OK: true, Left: 0, Wait: s}},
		{99 * time.Millisecond, "a", 1, limit.Verdict{Left: 0, Wait: time.Millisecond}},
		{time.Millisecond, "a", 1, limit.Verdict{OK: true, Left: 0, Wait: s}},
		{s / 2, "a", 3, limit.Verdict{OK: true, Left: 2, Wait: 800 * time.Millisecond}},
		{time.Hour, "a", 10, limit.Verdict{OK: true, Left: 0, Wait: s}}, // no more than a rate is kept
		{time.Hour, "a", 11, limit.Verdict{Left: 10, Wait: s / 10}},
	} {
		c.pass(step.pass)
		got := b.Take(step.key, step.n)
		if got.OK != step.want.OK || got.Left != step.want.Left || (got.Wait-step.want.Wait).Abs() > time.Microsecond {
			t.Errorf("step %d: %+v, want %+v", i, got, step.want)
		}
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	b, c := newBuckets(2, time.Minute)
	empty := func() bool { _, empty := b.Empty("a"); return empty }
	if empty() {
		t.Error("a bucket that nobody has used is empty")
	}
	b.Take("a", 1)
	for range 3 {
		if empty() {
			t.Error("looking takes something")
		}
	}
	b.Take("a", 1)
	if v, empty := b.Empty("a"); !empty || v.OK || (v.Wait-30*time.Second).Abs() > time.Microsecond {
		t.Errorf("%+v, %v", v, empty)
	}
	c.pass(30 * time.Second)
	if empty() {
		t.Error("nothing comes back")
	}
}

func TestLacks(t *testing.T) {
	t.Parallel()
	b, _ := newBuckets(3, time.Minute)
	for _, step := range []struct {
		n, take int
		lacks   bool
	}{{0, 0, false}, {3, 0, false}, {4, 1, true}, {2, 0, false}, {3, 2, true}, {1, 0, true}, {0, 0, false}} {
		if v, lacks := b.Lacks("a", step.n); lacks != step.lacks || v.OK == lacks {
			t.Errorf("%+v: %+v, %v", step, v, lacks)
		}
		b.Take("a", step.take)
	}
	if v, _ := b.Lacks("a", 2); (v.Wait - 40*time.Second).Abs() > time.Microsecond {
		t.Errorf("two come back in %v", v.Wait)
	}
}

func TestNoLimit(t *testing.T) {
	t.Parallel()
	b := limit.NewBuckets[string](limit.Rate{})
	if _, empty := b.Empty("a"); empty || !b.Take("a", 1_000_000_000).OK || !b.Rate().Off() {
		t.Error("no limit is one")
	}
}

// Of many at once no more get through than may.
func TestBucketsAtOnce(t *testing.T) {
	t.Parallel()
	b, _ := newBuckets(100, time.Second)
	var through atomic.Int64
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {
			if b.Take("a", 1).OK {
				through.Add(1)
			}
		})
	}
	all.Wait()
	if through.Load() != 100 {
		t.Errorf("%d got through", through.Load())
	}
}

// However many come, what is remembered of them is bounded; and who comes often is not
// forgotten for them.
func TestBucketsAreBounded(t *testing.T) { // not parallel: it looks at the memory
	addresses, most := 1_000_000, uint64(60<<20)
	if testing.Short() {
		addresses = 200_000
	}
	b := limit.NewBuckets[netip.Addr](limit.Rate{N: 10, Per: time.Hour})
	often := netip.MustParseAddr("192.0.2.1")
	refused := 0
	before := heap()
	for i := range addresses {
		b.Take(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1)
		if i%10 == 0 && !b.Take(often, 1).OK {
			refused++
		}
	}
	used := heap() - before
	if want := addresses/10 - 10; refused < want*9/10 {
		t.Errorf("who comes often was refused %d times, want about %d", refused, want)
	}
	t.Logf("%d addresses take %d MB", addresses, used>>20)
	if used > most {
		t.Errorf("%d addresses take %d bytes", addresses, used)
	}
	runtime.KeepAlive(b)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkTake(b *testing.B) {
	buckets := limit.NewBuckets[string](limit.Rate{N: 1_000_000_000, Per: time.Second})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			buckets.Take("a", 1)
		}
	})
}
