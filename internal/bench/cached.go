//go:build unix

package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
	"github.com/calldibs/dibs/internal/figures"
)

// cachedNames is how many names are read in turn: more than fit into the caches of the
// processor.
const cachedNames = 10_000

// cachedReads is S10: how many reads one core answers from memory.
func cachedReads(l *lab) []row {
	l.Helper()
	inside, _ := serverOnSQLite(l)
	defer inside.close()
	cache, err := dibscache.New(inside.Registry, dibscache.Config{MaxStale: time.Minute})
	l.must(err)
	defer func() { l.must(cache.Close()) }()
	count := cachedNames
	if l.length < time.Second { // creating them would take longer than the round
		count = 100
	}
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("cached-%d", i)
		_, err := inside.Claim(l.Context(), dibs.Claim{Namespace: namespace, Value: names[i], Entity: dibs.Entity{Type: "user", ID: names[i]}})
		l.must(err)
	}
	resolve := func(name string) error {
		_, err := cache.Resolve(context.Background(), namespace, name)
		return err
	}
	check := func(name string) error {
		_, err := cache.Check(context.Background(), dibs.CheckRequest{Namespace: namespace, Values: []string{name}})
		return err
	}
	rates := l.takeTurns(l.onOneCore(names, resolve), l.onOneCore(names, check))
	return []row{
		{what: "resolve in process, from the cache, one core", unit: figures.PerSecond, ours: rates[0], want: atLeast(4_000_000)},
		{what: "check in process, from the cache, one core", unit: figures.PerSecond, ours: rates[1], want: atLeast(4_000_000)},
	}
}

// onOneCore measures the calls a second of one goroutine, while Go has one core.
func (l *lab) onOneCore(names []string, ask func(name string) error) func() reading {
	return func() reading {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		for _, name := range names { // once, to fill the cache
			l.must(ask(name))
		}
		asked, began := 0, time.Now()
		processor := l.metered(nil, func() int {
			for more := lasting(l.length); more(); {
				for _, name := range names {
					if err := ask(name); err != nil { // must itself would take longer than the call
						l.must(err)
					}
				}
				asked += len(names)
			}
			return asked
		})
		return reading{float64(asked) / time.Since(began).Seconds(), processor}
	}
}
