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

// storm injects random faults. They depend on the seed, and on the order of concurrent exchanges.
type storm struct {
	dark   atomic.Bool // the database is out of reach
	mu     sync.Mutex
	random *rand.Rand
	faults map[string]int // how many there were of each kind
}

// blackout puts the database out of reach for longer than the timeout of the store.
func (w *storm) blackout(p *pgproxy.Proxy, d time.Duration) {
	w.dark.Store(true)
	p.Refuse(true)
	p.CutAll()
	time.Sleep(d)
	p.Refuse(false)
	w.dark.Store(false)
}

func (w *storm) hook(x *pgproxy.Exchange) pgproxy.Action {
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

// sentCommand is a command of a caller, and how to find it in the feed.
type sentCommand struct {
	command  dibs.Command
	mark     func(e *dibs.Event) bool // the event that it alone causes
	err      error
	repeated bool // since its outcome was unknown
}

// caller sends commands, and records the answers.
type caller struct {
	reg    *dibs.Registry
	id     int
	random *rand.Rand
	sent   []*sentCommand
}

func (c *caller) do(command dibs.Command, mark func(e *dibs.Event) bool) (dibs.Result, bool) {
	results, err := c.reg.Apply(context.Background(), command)
	c.sent = append(c.sent, &sentCommand{command: command, mark: mark, err: err})
	if errors.Is(err, dibs.ErrUnavailable) {
		time.Sleep(10 * time.Millisecond) // as a caller would
	}
	if err != nil {
		return dibs.Result{}, false
	}
	return results[0], true
}

// marked matches the event of the command with a correlation id.
func marked(kind dibs.EventKind, id string) func(*dibs.Event) bool {
	return func(e *dibs.Event) bool { return e.Kind == kind && e.CorrelationID == id }
}

// ofEpoch matches the event that ends a hold.
func ofEpoch(kind dibs.EventKind, n dibs.Name) func(*dibs.Event) bool {
	return func(e *dibs.Event) bool { return e.Kind == kind && e.ID == n.ID && e.Epoch == n.Epoch }
}

// live is one turn of a caller: it takes a name that others want too, uses it, and gives it back.
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
	return errors.Is(c.sent[len(c.sent)-1].err, dibs.ErrOutcomeUnknown)
}

// Under random faults every command succeeds, is refused, or has an unknown outcome, which a repeated
// command finds out. Then the database has all acknowledged changes, none of the refused ones, and the
// events of all. DIBS_TEST_LONG makes it last longer.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const timeout = 400 * time.Millisecond
	r := newRig(t).open(pgstore.Config{Timeout: timeout})
	reg := r.registry(r.store, dibs.Config{})
	around := r.aside(pgstore.Config{})
	reader := &follower{rig: r, reg: r.registry(around, dibs.Config{})}
	faults := &storm{random: rand.New(rand.NewPCG(seed, 0)), faults: make(map[string]int)}
	r.proxy.SetHook(faults.hook)

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
			time.Sleep(time.Second)
			faults.blackout(r.proxy, 3*timeout)
		})
	})
	group.Wait()
	others.Wait()
	r.calm()

	var sent []*sentCommand
	for _, c := range callers {
		sent = append(sent, c.sent...)
	}
	unknown := repeatUnknown(t, reader.reg, sent)
	reader.catchUp()
	t.Logf("%d commands, %d of unknown outcome, %d events, faults: %v", len(sent), unknown, len(reader.events), faults.faults)
	r.checkCommands(sent, reader.events)
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
