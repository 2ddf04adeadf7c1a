package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/pgstore"
)

// weather is faults by chance. Which ones depends on the seed, and on how the machine
// orders what happens at once.
type weather struct {
	dark   atomic.Bool // the database is out of reach
	mu     sync.Mutex
	random *rand.Rand
	faults map[string]int // how many there were of each kind
}

// blackout puts the database out of reach, in the middle of whatever is under way, for
// longer than the store waits.
func (w *weather) blackout(p *pgproxy.Proxy, d time.Duration) {
	w.dark.Store(true)
	p.Refuse(true)
	p.CutAll()
	time.Sleep(d)
	p.Refuse(false)
	w.dark.Store(false)
}

func (w *weather) hook(x *pgproxy.Exchange) pgproxy.Action {
	if w.dark.Load() {
		return pgproxy.CutBefore()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.random.IntN(6) > 0 || len(x.Statements) == 0 && w.random.IntN(4) > 0 {
		return pgproxy.Pass()
	}
	code := []string{pgerrcode.SerializationFailure, pgerrcode.DeadlockDetected, pgerrcode.LockNotAvailable}[w.random.IntN(3)]
	at := w.random.IntN(len(x.Statements) + 1)
	pause := make(chan struct{})
	time.AfterFunc(time.Duration(w.random.IntN(10))*time.Millisecond, func() { close(pause) })
	kinds := []struct {
		name   string
		action pgproxy.Action
	}{
		{"cut before", pgproxy.CutBefore()},
		{"cut during", pgproxy.CutDuring(at)},
		{"cut after", pgproxy.CutAfter()},
		{"stall", pgproxy.Stall(pause)},
		{"stalled answer", pgproxy.StallAnswer(pause)},
		{"failed commit", pgproxy.FailCommit(code)},
		{"failed statement", pgproxy.Fail(at, code)},
	}
	kind := kinds[w.random.IntN(len(kinds))]
	if at == len(x.Statements) && kind.name == "failed statement" {
		return pgproxy.Pass()
	}
	w.faults[kind.name]++
	return kind.action
}

// deed is a command that a caller gave, and how to find it in the feed.
type deed struct {
	command dibs.Command
	mark    func(e *dibs.Event) bool // the event that it alone causes
	err     error
	asked   bool // again, because nobody knew what became of it
}

// caller gives commands, and remembers what became of each.
type caller struct {
	reg    *dibs.Registry
	id     int
	random *rand.Rand
	deeds  []*deed
}

func (c *caller) do(command dibs.Command, mark func(e *dibs.Event) bool) (dibs.Result, bool) {
	results, err := c.reg.Apply(context.Background(), command)
	c.deeds = append(c.deeds, &deed{command: command, mark: mark, err: err})
	if errors.Is(err, dibs.ErrUnavailable) {
		time.Sleep(10 * time.Millisecond) // as a caller would
	}
	if err != nil {
		return dibs.Result{}, false
	}
	return results[0], true
}

// marked is an event with a correlation id, which is of one command only.
func marked(kind dibs.EventKind, id string) func(*dibs.Event) bool {
	return func(e *dibs.Event) bool { return e.Kind == kind && e.CorrelationID == id }
}

// ofEpoch is what becomes of a hold: once only.
func ofEpoch(kind dibs.EventKind, n dibs.Name) func(*dibs.Event) bool {
	return func(e *dibs.Event) bool { return e.Kind == kind && e.ID == n.ID && e.Epoch == n.Epoch }
}

// live is one turn of a caller: it takes a name that others want too, does something with
// it, and gives it back.
func (c *caller) live(turn int) {
	const wanted = 60
	mark := fmt.Sprintf("%d-%d", c.id, turn)
	value := func() string { return fmt.Sprint("name-", c.random.IntN(wanted)) }
	owner := user(mark)
	var owned bool
	if c.random.IntN(2) == 0 {
		token := dibs.NewToken()
		result, ok := c.do(dibs.Reserve{Namespace: "slug", Value: value(), Token: token, CorrelationID: mark}, marked(dibs.EventReserved, mark))
		if !ok {
			return
		}
		hold := result.Names[0]
		if c.random.IntN(2) == 0 {
			c.do(dibs.Release{ID: hold.ID, Token: token}, ofEpoch(dibs.EventReleased, hold))
			return
		}
		_, owned = c.do(dibs.Confirm{ID: hold.ID, Token: token, Entity: owner}, ofEpoch(dibs.EventConfirmed, hold))
	} else {
		_, owned = c.do(dibs.Claim{Namespace: "slug", Value: value(), Entity: owner, CorrelationID: mark}, marked(dibs.EventClaimed, mark))
	}
	if !owned {
		return
	}
	other := mark + "-other"
	if _, ok := c.do(dibs.Rename{Namespace: "slug", Value: value() + "-renamed", Entity: owner, CorrelationID: other}, marked(dibs.EventClaimed, other)); !ok && c.unknown() {
		return
	}
	c.do(dibs.Delete{Entity: owner}, func(e *dibs.Event) bool { return e.Kind == dibs.EventDeleted && e.Entity == owner })
}

func (c *caller) unknown() bool {
	return errors.Is(c.deeds[len(c.deeds)-1].err, dibs.ErrOutcomeUnknown)
}

// In a storm of faults every command is done, refused, or unknown; and what is unknown is
// settled by asking again. Afterwards the database holds what was acknowledged, nothing of
// what was refused, and a feed that tells all of it. DIBS_TEST_LONG makes it last longer.
func TestAStorm(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const timeout = 400 * time.Millisecond
	r := newRig(t).open(pgstore.Config{Timeout: timeout})
	reg := r.registry(r.store, dibs.Config{})
	around := r.aside(pgstore.Config{})
	reader := &follower{rig: r, reg: r.registry(around, dibs.Config{})}
	storm := &weather{random: rand.New(rand.NewPCG(seed, 0)), faults: make(map[string]int)}
	r.proxy.SetHook(storm.hook)

	callers := make([]*caller, 16)
	var group, others sync.WaitGroup
	over := make(chan struct{})
	time.AfterFunc(max(3*time.Second, longRun()), func() { close(over) })
	for i := range callers {
		c := &caller{reg: reg, id: i, random: rand.New(rand.NewPCG(seed, uint64(i)+1))}
		callers[i] = c
		group.Go(func() { repeat(over, c.live) })
	}
	others.Go(func() { repeat(over, func(int) { reader.catchUp() }) })
	others.Go(func() {
		repeat(over, func(int) {
			time.Sleep(time.Second) // of ordinary bad weather
			storm.blackout(r.proxy, 3*timeout)
		})
	})
	group.Wait()
	others.Wait()
	r.calm()

	var deeds []*deed
	for _, c := range callers {
		deeds = append(deeds, c.deeds...)
	}
	unknown := settleAll(t, reader.reg, deeds)
	reader.catchUp()
	t.Logf("%d commands, %d of unknown outcome, %d events, faults: %v", len(deeds), unknown, len(reader.events), storm.faults)
	r.checkDeeds(deeds, reader.events)
	r.checkFeed(around, reader.events)
	if twice := ask[int](r, "SELECT count(*) FROM (SELECT FROM "+r.table("dibs_names")+" WHERE state = 'active' GROUP BY owner, namespace HAVING count(*) > 1) t"); twice > 0 {
		t.Errorf("%d entities have two active names", twice)
	}
}

func repeat(over <-chan struct{}, do func(turn int)) {
	for turn := 0; ; turn++ {
		select {
		case <-over:
			return
		default:
			do(turn)
		}
	}
}
