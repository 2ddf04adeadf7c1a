package core

import (
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/generation"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	maxDestinations = 1 << 13
	destinationAge  = time.Minute // after twice as long none is left
)

// destinations remembers which records a Resolve of a name read lately: the entity, and of an alias
// the active name. The next one loads them together with the name, and so needs one Load instead of
// two or three. All are of the moment of that Load: a wrong guess only costs another one.
type destinations struct {
	mu     sync.Mutex
	byName generation.Map[dibs.ID, destination]
}

type destination struct{ entity, active dibs.Ref } // active has no ID if there is none

func newDestinations() *destinations {
	return &destinations{byName: generation.Map[dibs.ID, destination]{Size: maxDestinations, MaxAge: destinationAge}}
}

// expect makes a question load what it most likely asks for.
func (d *destinations) expect(question *rules.Request) {
	d.mu.Lock()
	d.byName.Expire(time.Now())
	last, ok := d.byName.Get(question.First().ID)
	d.mu.Unlock()
	if !ok {
		return
	}
	question.AlsoLoad(last.entity)
	if !last.active.ID.IsZero() {
		question.AlsoLoad(last.active)
	}
}

// note remembers where a name led to.
func (d *destinations) note(question *rules.Request, answer *dibs.Resolution) {
	name := question.First()
	if answer.Entity.IsZero() {
		return
	}
	to := destination{entity: dibs.Ref{Kind: dibs.KindEntity, Scope: name.Scope, ID: dibs.EntityID(name.Scope, answer.Entity)}}
	if answer.To != nil {
		to.active = dibs.Ref{Kind: dibs.KindName, Scope: name.Scope, ID: answer.To.ID}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if last, ok := d.byName.Get(name.ID); !ok || last != to {
		d.byName.PutAt(name.ID, to, time.Now())
	}
}
