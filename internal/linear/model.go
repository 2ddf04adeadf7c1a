package linear

import (
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/calldibs/dibs"
)

// rules are the rules of the verbs that need only the Op.
var rules = map[Verb]func(w *world, o Op) Answer{
	Release:      (*world).release,
	Confirm:      (*world).confirm,
	Replace:      (*world).confirm,
	Claim:        (*world).claim,
	Rename:       (*world).rename,
	Decommission: (*world).decommission,
	Transfer:     (*world).transfer,
	Swap:         (*world).swap,
	Archive:      (*world).archive,
	Restore:      (*world).archive,
	Delete:       (*world).delete,
	Resolve:      (*world).resolve,
	Get:          (*world).get,
	Check:        (*world).check,
	Names:        (*world).namesOf,
}

// decide applies an Op and returns the expected answer. got, the actual answer, decides
// only where the rules depend on a millisecond, and says when a hold ends at the latest.
func (w *world) decide(o Op, got Answer) Answer {
	switch o.Verb {
	case Reserve:
		return w.reserve(o, o.Name, got)
	case ReserveBoth:
		return w.reserveBoth(o, got)
	case Extend:
		return w.extend(o, got)
	default:
		return rules[o.Verb](w, o)
	}
}

// step returns the worlds that an Op with this answer may lead to: none if the answer is
// wrong.
func (w world) step(o Op, got Answer) (next []any) {
	for _, after := range w.moments(o, got.when()) {
		want := after.decide(o, got)
		if got.Lost || want.like(got) && after.learn(o, got) {
			next = append(next, after)
		}
	}
	return next
}

func (a Answer) when() millis {
	if a.Lost {
		return never
	}
	return a.At
}

// learn takes from an answer what the model cannot compute: when holds end, and versions.
// It reports whether they are possible.
func (w *world) learn(o Op, got Answer) bool {
	if got.Code != "" {
		return true
	}
	for _, seen := range got.Names {
		n := &w.names[seen.Name]
		if n.state != dibs.Held {
			continue
		}
		if !n.ends.contains(seen.Ends) {
			return false
		}
		n.ends = moment(seen.Ends)
	}
	if got.Version == 0 {
		return got.Replayed || !o.Verb.hasVersion()
	}
	e := &w.entities[o.Entity]
	if o.Verb == Transfer {
		e = &w.entities[o.To]
	}
	if got.Version < e.version || e.exact && got.Version != e.version {
		return false
	}
	e.version, e.exact = got.Version, true
	return true
}

// end is when a hold ends that an Op makes or extends.
func (o Op) end(got Answer) span {
	end := span{o.Asked.plus(o.TTL - o.Jumps - guessedEarly), never}
	if !got.Lost {
		end.to = got.At.plus(o.TTL+o.Jumps+guessedLate) + skew
	}
	return end
}

// model is the porcupine model. If apart is true, each name has its own entity with the same
// number, and is checked separately.
func model(apart, quarantine bool) porcupine.Model {
	seed := maphash.MakeSeed()
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{newWorld(quarantine)} },
		Step: func(state, input, output any) []any { return state.(world).step(input.(Op), output.(Answer)) },
		Hash: func(state any) uint64 { return maphash.Comparable(seed, state.(world)) },
		DescribeOperation: func(input, output any) string {
			return fmt.Sprintf("%v: %v", input, output)
		},
		DescribeState: func(state any) string { return state.(world).String() },
	}
	if apart {
		m.Partition = byName
	}
	return m.ToModel()
}

func byName(history []porcupine.Operation) [][]porcupine.Operation {
	parts := make([][]porcupine.Operation, maxNames+1)
	for _, operation := range history {
		i := operation.Input.(Op).Name
		parts[i] = append(parts[i], operation)
	}
	return parts
}

// String formats a world for a history.
func (w world) String() string {
	var text strings.Builder
	for i, n := range w.names {
		if n.epoch > 0 {
			fmt.Fprintf(&text, "name %d: %s (%s) epoch %d, token %d, owner %d; ", i, n.state, n.status, n.epoch, n.token, n.owner)
		}
	}
	for i, e := range w.entities {
		if e.known {
			fmt.Fprintf(&text, "entity %d: active %d, archived %v, deleted %v, version %d; ", i, e.active, e.archived, e.deleted, e.version)
		}
	}
	return text.String()
}

// mostChecking is how long the check of a history may take.
const mostChecking = time.Minute
