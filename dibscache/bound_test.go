package dibscache_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
)

// owners is who had a name from when on, as the one who changed it saw it.
type owners struct {
	since []time.Time // when the change had been acknowledged
}

// couldBe reports whether an owner is right for an answer that was asked for at a moment:
// nobody may have followed him longer ago than allowed.
func (o *owners) couldBe(n int, asked time.Time) bool {
	return n+1 >= len(o.since) || asked.Sub(o.since[n+1]) <= maxStale
}

// Names change hands all the time, the feed is cut and comes back, and whatever the cache
// says was so no longer than MaxStale ago.
func TestNeverTooOld(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	for seed := range uint64(rounds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inBubble(t, dibs.Config{}, func(w *world) {
				random := rand.New(rand.NewPCG(seed, 1))
				const names = 3
				var had [names]owners
				for i := range names {
					w.do(dibs.Claim{Namespace: "slug", Value: fmt.Sprint(i), Entity: owner(i, 0)})
					had[i].since = append(had[i].since, time.Now())
				}
				stale, memory := 0, int64(0)
				for range 400 {
					time.Sleep(time.Duration(random.Int64N(int64(maxStale / 8))))
					i := random.IntN(names)
					switch at := random.IntN(20); {
					case at == 0:
						w.engine.cut.Store(true)
					case at < 3:
						w.engine.cut.Store(false)
					case at < 7:
						n := len(had[i].since)
						w.do(dibs.Transfer{Namespace: "slug", Value: fmt.Sprint(i), From: owner(i, n-1), To: owner(i, n)})
						had[i].since = append(had[i].since, time.Now())
					default:
						asked := time.Now()
						var r dibs.Resolution
						if w.asks(func() { r = w.resolve(fmt.Sprint(i)) }) == 0 {
							memory++
						}
						var of, n int
						if _, err := fmt.Sscanf(r.Entity.ID, "%d/%d", &of, &n); err != nil || of != i {
							w.Fatalf("it leads to %v", r)
						}
						if n < len(had[i].since)-1 {
							stale++
						}
						if !had[i].couldBe(n, asked) {
							w.Fatalf("owner %d was followed %v ago", n, asked.Sub(had[i].since[n+1]))
						}
					}
				}
				if memory == 0 {
					w.Error("nothing came from memory: this test shows nothing")
				}
				w.Logf("%d answers from memory, %d were of the past", memory, stale)
			})
		})
	}
}

func owner(name, n int) dibs.Entity { return user(fmt.Sprintf("%d/%d", name, n)) }

// An answer that was on its way when the name changed is not kept beyond its time.
func TestAnswerUnderWay(t *testing.T) {
	inBubble(t, dibs.Config{}, func(w *world) {
		release := make(chan struct{})
		w.engine.late.Store(&release)
		answered := make(chan dibs.Resolution)
		go func() { answered <- w.resolve("ann") }()
		synctest.Wait()
		w.do(dibs.Claim{Namespace: "slug", Value: "ann", Entity: user("1")})
		w.settle() // the cache has noted that
		close(release)
		if r := <-answered; r.Outcome != dibs.ResolveNotFound {
			w.Fatalf("it leads to %v: this test shows nothing", r.Entity)
		}
		if r := w.resolve("ann"); r.Entity != user("1") {
			w.Errorf("afterwards it leads to %v", r.Entity)
		}
	})
}
