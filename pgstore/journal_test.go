package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// journal records the answers that callers got while a server was killed, to compare them with the
// database.
type journal struct {
	tb   testing.TB
	regs []*dibs.Registry // callers are spread over them

	acknowledged atomic.Int64 // changes
	unknown      atomic.Int64 // unknown outcomes, each of which was found out later
	unavailable  atomic.Int64

	mu      sync.Mutex
	holds   map[string]string      // by correlation id, the canonical names that were acknowledged
	owners  map[string]dibs.Entity // by canonical name, the owners that were acknowledged
	refused []string               // correlation ids of requests that changed nothing
}

func newJournal(tb testing.TB, regs ...*dibs.Registry) *journal {
	return &journal{tb: tb, regs: regs, holds: make(map[string]string), owners: make(map[string]dibs.Entity)}
}

const callers = 32

// work makes callers take names until stop is called, which waits for them. Two callers want each
// name.
func (j *journal) work() (stop func()) {
	var stopped atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		each(callers, func(caller int) {
			reg := j.regs[caller%len(j.regs)]
			for step := 0; !stopped.Load(); step++ {
				j.take(reg, fmt.Sprintf("name-%d-%d", step, caller/2), fmt.Sprintf("caller-%d-step-%d", caller, step))
			}
		})
	}()
	return func() {
		stopped.Store(true)
		<-ended
	}
}

// take reserves a name and confirms it. who, which names the caller and the step, also serves as
// token, correlation id and entity.
func (j *journal) take(reg *dibs.Registry, name, who string) {
	var hold dibs.Hold
	err := j.ask(func() (err error) {
		hold, err = reg.Reserve(context.Background(), dibs.Reserve{
			Namespace: "slug", Value: name, Token: "token-of-" + who, CorrelationID: who,
		})
		return err
	})
	switch {
	case errors.Is(err, dibs.ErrUnavailable), errors.Is(err, dibs.ErrNameTaken):
		j.note(func() { j.refused = append(j.refused, who) })
		return
	case err != nil:
		j.tb.Errorf("reserving: %v", err)
		return
	}
	j.note(func() { j.holds[who] = name })
	entity := dibs.Entity{Type: "user", ID: who}
	err = j.ask(func() error {
		_, err := reg.Confirm(context.Background(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: entity})
		return err
	})
	switch {
	case errors.Is(err, dibs.ErrUnavailable): // it stays held
	case err != nil:
		j.tb.Errorf("confirming: %v", err)
	default:
		j.note(func() {
			if other, ok := j.owners[name]; ok {
				j.tb.Errorf("%s has two owners, %v and %v", name, other, entity)
			}
			j.owners[name] = entity
		})
	}
}

func (j *journal) note(what func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	what()
}

// ask makes a call. After an unknown outcome it repeats the call until there is an answer.
func (j *journal) ask(call func() error) error {
	err := call()
	for lost := false; ; err = call() {
		switch {
		case err == nil:
			j.acknowledged.Add(1)
			return nil
		case errors.Is(err, dibs.ErrOutcomeUnknown):
			lost = true
			j.unknown.Add(1)
		case errors.Is(err, dibs.ErrUnavailable):
			j.unavailable.Add(1)
			if !lost {
				return err
			}
		default:
			return err
		}
	}
}

// awaitProgress waits for a number of further acknowledged changes, and returns how long the first
// took.
func (j *journal) awaitProgress(further int64) (first time.Duration) {
	j.tb.Helper()
	begin, before := time.Now(), j.acknowledged.Load()
	await(j.tb, "a call succeeds", func() bool { return j.acknowledged.Load() > before })
	first = time.Since(begin)
	await(j.tb, "calls succeed", func() bool { return j.acknowledged.Load() >= before+further })
	return first
}

// check compares the acknowledged changes, the database and the feed.
func (j *journal) check() {
	j.tb.Helper()
	feed := readFeed(j.tb, j.regs[0])
	for who, name := range j.holds {
		if reserved := feed.by[who]; reserved != name {
			j.tb.Errorf("%s was acknowledged for %s: the feed has %q", name, who, reserved)
		}
	}
	for _, who := range j.refused {
		if name, ok := feed.by[who]; ok {
			j.tb.Errorf("%s was refused, and has reserved %s", who, name)
		}
	}
	for name, entity := range j.owners {
		if now := feed.now[name]; now.State != dibs.Active || now.Entity != entity {
			j.tb.Errorf("%s was acknowledged for %v: the feed has %+v", name, entity, now)
		}
	}
	feed.check(j.tb, j.regs[0])
	j.tb.Logf("%d changes acknowledged, %d unknown outcomes, %d times unavailable",
		j.acknowledged.Load(), j.unknown.Load(), j.unavailable.Load())
}
