package dibscache_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
)

// owners are the owners of a name in order.
type owners struct {
	since []time.Time // when the change to the owner was acknowledged
}

// couldBe reports whether owner n is a correct answer at a moment: the next owner must not
// have the name for longer than MaxStale.
func (o *owners) couldBe(n int, asked time.Time) bool {
	return n+1 >= len(o.since) || asked.Sub(o.since[n+1]) <= maxStale
}

// While names change owners and the feed goes down and up, every answer of the cache was
// right at most MaxStale ago.
func TestNeverTooOld(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	for seed := range uint64(rounds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			run(t, dibs.Config{}, func(f *fixture) {
				random := rand.New(rand.NewPCG(seed, 1))
				const names = 3
				var had [names]owners
				for i := range names {
					f.do(dibs.Claim{Namespace: "slug", Value: fmt.Sprint(i), Entity: owner(i, 0)})
					had[i].since = append(had[i].since, time.Now())
				}
				stale, memory := 0, int64(0)
				for range 400 {
					time.Sleep(time.Duration(random.Int64N(int64(maxStale / 8))))
					i := random.IntN(names)
					switch at := random.IntN(20); {
					case at == 0:
						f.store.feedDown.Store(true)
					case at < 3:
						f.store.feedDown.Store(false)
					case at < 7:
						n := len(had[i].since)
						f.do(dibs.Transfer{Namespace: "slug", Value: fmt.Sprint(i), From: owner(i, n-1), To: owner(i, n)})
						had[i].since = append(had[i].since, time.Now())
					default:
						asked := time.Now()
						var r dibs.Resolution
						if f.loads(func() { r = f.resolve(fmt.Sprint(i)) }) == 0 {
							memory++
						}
						var of, n int
						if _, err := fmt.Sscanf(r.Entity.ID, "%d/%d", &of, &n); err != nil || of != i {
							f.Fatalf("the name leads to %v", r)
						}
						if n < len(had[i].since)-1 {
							stale++
						}
						if !had[i].couldBe(n, asked) {
							f.Fatalf("owner %d lost the name %v ago", n, asked.Sub(had[i].since[n+1]))
						}
					}
				}
				if memory == 0 {
					f.Error("no answer came from memory: this run proves nothing")
				}
				f.Logf("%d answers from memory, %d stale ones", memory, stale)
			})
		})
	}
}

func owner(name, n int) dibs.Entity { return user(fmt.Sprintf("%d/%d", name, n)) }

// An answer that was on its way when the name changed does not stay in the cache.
func TestAnswerOnItsWay(t *testing.T) {
	run(t, dibs.Config{}, func(f *fixture) {
		release := make(chan struct{})
		f.store.delayed.Store(&release)
		answered := make(chan dibs.Resolution)
		go func() { answered <- f.resolve("ann") }()
		synctest.Wait()
		f.do(dibs.Claim{Namespace: "slug", Value: "ann", Entity: user("1")})
		f.catchUp() // the cache has read the event
		close(release)
		if r := <-answered; r.Outcome != dibs.ResolveNotFound {
			f.Fatalf("the name leads to %v: this run proves nothing", r.Entity)
		}
		if r := f.resolve("ann"); r.Entity != user("1") {
			f.Errorf("afterwards the name leads to %v", r.Entity)
		}
	})
}
