package linear

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/calldibs/dibs"
)

// Finished is what the callers of a history know at its end.
type Finished struct {
	Scope     string
	Namespace string
	Values    []string      // of the names
	Entities  []dibs.Entity // that may own them
	Changes   []Change      // that were acknowledged
	// OfEntities are acknowledged changes of entities as a whole, of which answers show no names.
	OfEntities []EntityChange
}

// Change is an acknowledged change of a name: the state that the answer shows.
type Change struct {
	Value  string
	State  dibs.State
	Epoch  uint64
	Entity dibs.Entity // the owner, or the intended one
	// Both says that it is one of two names that were reserved together, of which one may have been held
	// before.
	Both bool
}

// EntityChange is an acknowledged Archive, Restore or Delete.
type EntityChange struct {
	Kind    dibs.EventKind
	Entity  dibs.Entity
	Version uint64
}

// entityEvents are the events of commands on entities as a whole.
var entityEvents = map[Verb]dibs.EventKind{Archive: dibs.EventArchived, Restore: dibs.EventRestored, Delete: dibs.EventDeleted}

func (h *history) finished() Finished {
	c := h.client(0)
	f := Finished{Scope: h.scope(), Namespace: h.namespace()}
	for i := 1; i <= h.names; i++ {
		f.Values = append(f.Values, c.name(i))
		f.Entities = append(f.Entities, c.entity(i))
	}
	for _, operation := range h.done {
		o, a := operation.Input.(Op), operation.Output.(Answer)
		if o.Verb.reads() || a.Replayed || a.Lost || a.Code != "" {
			continue
		}
		if kind, ok := entityEvents[o.Verb]; ok {
			f.OfEntities = append(f.OfEntities, EntityChange{kind, c.entity(o.Entity), a.Version})
		}
		for _, seen := range a.Names {
			f.Changes = append(f.Changes, Change{c.name(seen.Name), seen.State, seen.Epoch, c.optional(seen.Entity), o.Verb == ReserveBoth})
		}
	}
	return f
}

// mostTracing is how long each check of an unknown outcome may take.
const mostTracing = 2 * time.Second

// trace finds out how the commands with an unknown outcome of a linearizable history ended: the
// history is checked once without the command, and once with the command before the final
// reads.
func (h *history) trace() (ended Outcomes) {
	operations := h.operations()
	possible := func(operations []porcupine.Operation) bool {
		return porcupine.CheckOperationsTimeout(model(h.apart, h.quarantine), operations, mostTracing) != porcupine.Illegal
	}
	for i, operation := range operations {
		if !operation.Output.(Answer).Lost {
			continue
		}
		without := slices.Delete(slices.Clone(operations), i, i+1)
		with := slices.Clone(operations)
		with[i].Return = max(operation.Call, h.reading)
		switch {
		case !possible(without):
			ended.Happened++
		case !possible(with):
			ended.Not++
		default:
			ended.Unclear++
		}
	}
	return ended
}
