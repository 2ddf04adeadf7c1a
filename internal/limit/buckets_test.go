package limit_test

import (
	"net/netip"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/limit"
)

// clock is a clock that only pass moves.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() time.Time       { return time.Unix(1_800_000_000, c.now.Load()) }
func (c *clock) pass(d time.Duration) { c.now.Add(int64(d)) }

func newBuckets(n int, per time.Duration) (*limit.Buckets[string], *clock) {
	b, c := limit.NewBuckets[string](limit.Rate{N: n, Per: per}), new(clock)
	limit.SetClock(b, c.Now)
	return b, c
}

// All tokens of a rate may be taken at once, and come back evenly; each key has its own.
func TestBuckets(t *testing.T) {
	t.Parallel()
	const s = time.Second
	b, c := newBuckets(10, s)
	for i, step := range []struct {
		pass time.Duration
		key  string
		n    int
		want limit.Decision
	}{
		{0, "a", 1, limit.Decision{OK: true, Left: 9, Wait: s / 10}},
		{0, "a", 4, limit.Decision{OK: true, Left: 5, Wait: s / 2}},
		{0, "a", 6, limit.Decision{Left: 5, Wait: s / 10}}, // all or none
		{0, "a", 5, limit.Decision{OK: true, Left: 0, Wait: s}},
		{0, "a", 1, limit.Decision{Left: 0, Wait: s / 10}},
		{0, "b", 10, limit.Decision{OK: true, Left: 0, Wait: s}},
		{99 * time.Millisecond, "a", 1, limit.Decision{Left: 0, Wait: time.Millisecond}},
		{time.Millisecond, "a", 1, limit.Decision{OK: true, Left: 0, Wait: s}},
		{s / 2, "a", 3, limit.Decision{OK: true, Left: 2, Wait: 800 * time.Millisecond}},
		{time.Hour, "a", 10, limit.Decision{OK: true, Left: 0, Wait: s}}, // no more than a full bucket
		{time.Hour, "a", 11, limit.Decision{Left: 10, Wait: s / 10}},
	} {
		c.pass(step.pass)
		got := b.Take(step.key, step.n)
		if got.OK != step.want.OK || got.Left != step.want.Left || (got.Wait-step.want.Wait).Abs() > time.Microsecond {
			t.Errorf("step %d: %+v, want %+v", i, got, step.want)
		}
	}
}

// Peek takes nothing.
func TestPeek(t *testing.T) {
	t.Parallel()
	b, c := newBuckets(3, time.Minute)
	for _, step := range []struct {
		n, take int
		ok      bool
	}{{0, 0, true}, {3, 0, true}, {4, 1, false}, {2, 0, true}, {3, 2, false}, {1, 0, false}, {0, 0, true}} {
		if got := b.Peek("a", step.n); got.OK != step.ok {
			t.Errorf("%+v: %+v", step, got)
		}
		b.Take("a", step.take)
	}
	if got := b.Peek("a", 2); (got.Wait - 40*time.Second).Abs() > time.Microsecond {
		t.Errorf("two tokens come back in %v, want 40s", got.Wait)
	}
	c.pass(40 * time.Second)
	if got := b.Peek("a", 2); !got.OK {
		t.Errorf("after 40s: %+v", got)
	}
}

func TestNoLimit(t *testing.T) {
	t.Parallel()
	b := limit.NewBuckets[string](limit.Rate{})
	if !b.Peek("a", 1).OK || !b.Take("a", 1_000_000_000).OK || !b.Rate().Off() {
		t.Error("the zero rate limits")
	}
}

// Concurrent callers take no more tokens than there are.
func TestBucketsConcurrently(t *testing.T) {
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
		t.Errorf("%d tokens were taken, want 100", through.Load())
	}
}

// The memory for any number of callers is bounded, and a frequent caller keeps its bucket.
func TestBucketsAreBounded(t *testing.T) { // not parallel: it measures the memory
	addresses, most := 500_000, uint64(60<<20)
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
		t.Errorf("the frequent caller was refused %d times, want about %d", refused, want)
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

func TestSeen(t *testing.T) {
	t.Parallel()
	s := limit.NewSeen()
	s.Add("a", "b")
	for _, c := range []struct {
		parts []string
		want  bool
	}{{[]string{"a", "b"}, true}, {[]string{"ab"}, false}, {[]string{"ab", ""}, false}, {[]string{"b", "a"}, false}, {[]string{"a"}, false}} {
		if s.Has(c.parts...) != c.want {
			t.Errorf("%q: Has returned %v", c.parts, !c.want)
		}
	}
	for i := range limit.MaxSeen - 1 {
		s.Add(strconv.Itoa(i))
	}
	if !s.Has("a", "b") {
		t.Error("a recent thing was forgotten")
	}
	for i := range 2 * limit.MaxSeen {
		s.Add("other", strconv.Itoa(i))
	}
	if s.Has("a", "b") {
		t.Error("an old thing was not forgotten")
	}
}
