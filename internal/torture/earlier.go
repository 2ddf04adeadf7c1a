package torture

import (
	"math/rand/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/linear"
)

// earlier is a history of a round that was audited. What was right then must still be there after all
// later faults.
type earlier struct {
	linear.Finished
	chains map[dibs.ID]*chain
}

// A few histories of each round are kept, and not more than mostEarlier in all: each audit compares them again.
const (
	keptOfRound = 5
	mostEarlier = 25
)

// keepSome keeps some of the histories of a round, instead of others.
func (t *run) keepSome(histories []linear.Finished, chains map[dibs.ID]*chain) {
	for _, i := range rand.Perm(len(histories))[:min(keptOfRound, len(histories))] {
		e := earlier{histories[i], make(map[dibs.ID]*chain)}
		for _, value := range e.Values {
			if id := dibs.NameID(e.Namespace, value); chains[id] != nil {
				e.chains[id] = chains[id]
			}
		}
		if len(t.earlier) < mostEarlier {
			t.earlier = append(t.earlier, e)
		} else {
			t.earlier[rand.IntN(mostEarlier)] = e
		}
	}
}

// compareEarlier compares histories of earlier rounds with what is there now, and returns how many names
// they have.
func (a *audit) compareEarlier() (names int) {
	for _, e := range a.t.earlier {
		a.compareNames(e.Finished, e.chains, onlyTime)
		names += len(e.Values)
	}
	return names
}

// onlyTime accepts the event of a hold that has ended. The feed since an earlier round is too long to
// look for it.
func onlyTime(e dibs.Event) (bool, error) { return e.Kind == dibs.EventExpired, nil }
