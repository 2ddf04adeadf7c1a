//go:build unix

package bench

import (
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/figures"
)

// stampede is S6: many callers race for one name. Exactly one gets it, all get an answer
// soon, and the database has little work.
func stampede(l *lab) []row {
	var commits atomic.Int64
	counted := func(l *lab) contender {
		return openOnPostgres(l, dibs.Config{Observer: dibs.Observer{Batch: func(b dibs.BatchInfo) { commits.Add(int64(b.Commits)) }}})
	}
	var commitsEach sample
	ours, peer := l.compare(counted, plainOnPostgres, func(c contender) reading {
		l.race(c) // warms up
		l.calm()
		commits.Store(0)
		var took time.Duration
		races := 0
		var processor float64
		l.profiled(c, func() {
			processor = l.metered(c, func() int {
				for more := lasting(l.length); races == 0 || more(); races++ {
					took += l.race(c)
				}
				return races * l.callers
			})
		})
		if _, ours := c.(*registry); ours {
			commitsEach = append(commitsEach, float64(commits.Load())/float64(races))
		}
		return reading{float64(races*l.callers) / took.Seconds(), processor}
	})
	race := figures.Thousands(float64(l.callers)) + " callers race for one name"
	return []row{
		{what: race + ", answers", unit: figures.PerSecond, ours: ours, against: bare, peer: peer, want: atLeast(4)},
		{what: race + ", commits", unit: figures.Transactions, ours: figuresOf(commitsEach...), want: atMost(10)},
		{what: race + ", as counted by PostgreSQL", unit: figures.Transactions, ours: figuresOf(l.countRace()), want: atMost(10)},
	}
}

// race lets many callers race for a name, and returns how long it takes until all have
// their answers.
func (l *lab) race(c contender) time.Duration {
	l.Helper()
	var (
		name  = newName()
		start = make(chan struct{})
		wins  atomic.Int64
		begin time.Time
	)
	ready := make(chan struct{}, l.callers)
	go func() {
		for range l.callers {
			<-ready
		}
		begin = time.Now()
		close(start)
	}()
	err := concurrently(l.callers, func(int) error {
		ready <- struct{}{}
		<-start
		won, err := c.reserve(name)
		if won {
			wins.Add(1)
		}
		return err
	})
	took := time.Since(begin)
	l.must(err)
	if wins.Load() != 1 {
		l.Fatalf("%d callers won the race for one name, want 1", wins.Load())
	}
	return took
}

// countRace returns how many transactions a race costs by the database's own count, also
// those that only read. Those of opening, of new connections and of closing are subtracted: they are
// as many for one race as for several.
func (l *lab) countRace() float64 {
	l.Helper()
	const further = 4
	races := func(n int) int64 {
		return l.countTransactions(func(c contender) {
			for range n {
				l.race(c)
			}
		})
	}
	once := races(1)
	return float64(races(1+further)-once) / further
}

// countTransactions counts in a separate database without other users.
func (l *lab) countTransactions(work func(contender)) (count int64) {
	l.Helper()
	r := openOnPostgres(l, dibs.Config{})
	defer r.remove()
	_, err := r.reserve(newName())
	l.must(err)
	work(r)
	l.must(r.Close())
	database := l.databaseOf(r.where)
	l.awaitNoSession(database)
	l.must(l.admin.QueryRow(l.Context(), "SELECT xact_commit FROM pg_stat_database WHERE datname = $1", database).Scan(&count))
	return count
}

// awaitNoSession waits until a database has no session. Sessions report their counts when they
// end, which is asynchronous.
func (l *lab) awaitNoSession(database string) {
	l.Helper()
	const ended = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = $1)"
	for all := false; !all; time.Sleep(10 * time.Millisecond) {
		l.must(l.admin.QueryRow(l.Context(), ended, database).Scan(&all))
	}
}
