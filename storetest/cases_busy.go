package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// patience is how long a group may wait for another transaction. Working engines
// answer much sooner.
const patience = 2 * time.Second

func commitBusy(e *env) {
	if e.harness.Hold == nil {
		e.Logf("did not run: the harness cannot hold a record")
		return
	}
	held, free := name("slug", "held", dibs.Active), name("slug", "free", dibs.Active)
	e.commit(create(held, free))
	release := sync.OnceFunc(e.harness.Hold(e.TB, e.store, held.Ref()))
	defer release()

	written := document(dibs.KindTally, "beside")
	g := join(create(written), update(held, next(held, nil)), telling(happened(dibs.EventExtended, next(held, nil))))
	outcomes := make(chan []dibs.Outcome, 1)
	go func() {
		// An error leaves the channel's value empty, and is reported below.
		found, _ := e.store.Commit(context.WithoutCancel(e.Context()), []dibs.Group{g})
		outcomes <- found
	}()
	select {
	case found := <-outcomes:
		if len(found) != 1 || found[0] != dibs.Busy {
			e.Fatalf("the outcome of a group with a locked record is %v, it must be Busy (%d)", found, dibs.Busy)
		}
	case <-time.After(patience):
		release()
		<-outcomes
		e.Fatalf("Commit waited more than %v for a locked record", patience)
	}
	e.has(held)
	e.lacks(written)
	if events, err := e.store.Events(e.Context(), dibs.EventQuery{Limit: 10}); err != nil || len(events) != 0 {
		e.Fatalf("a busy group left %d events, %v", len(events), err)
	}
	e.commit(update(free, next(free, nil))) // other records are not locked
	release()
	e.commit(g)
	e.has(next(held, nil), written)
}
