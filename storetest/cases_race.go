package storetest

import (
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

const (
	racers = 16
	races  = 8
)

// race commits groups concurrently and demands that exactly one succeeds. It
// returns the index of that one.
func (e *env) race(handles []dibs.Store, groups []dibs.Group) int {
	e.Helper()
	outcomes := make([]dibs.Outcome, len(groups))
	e.together(len(groups), func(i int) (err error) {
		outcomes[i], err = commitOne(e.Context(), handles[i%len(handles)], groups[i])
		return err
	})
	winners := 0
	for _, outcome := range outcomes {
		winners += int(outcome)
	}
	if winners != 1 {
		e.Fatalf("%d of %d commits on the same revision succeeded, exactly one must", winners, len(groups))
	}
	return slices.Index(outcomes, dibs.Committed)
}

func raceCreate(e *env) {
	handles := e.handles()
	for round := range races {
		var groups []dibs.Group
		var names []*dibs.NameRecord
		for i := range racers {
			n := name("slug", fmt.Sprint(round), dibs.Held)
			n.Principal = fmt.Sprint(i)
			names, groups = append(names, n), append(groups, claim(n))
		}
		winner := e.race(handles, groups)
		e.has(names[winner])
		e.sameEvents(e.history(names[0].ID), []dibs.Event{happened(dibs.EventClaimed, names[winner])})
	}
}

func raceUpdate(e *env) {
	handles := e.handles()
	for round := range races {
		a, b := name("slug", fmt.Sprintf("a%d", round), dibs.Active), document(dibs.KindQuota, fmt.Sprintf("b%d", round))
		e.commit(create(a, b))
		var groups []dibs.Group
		var written [][]dibs.Record
		for i := range racers {
			a2 := next(a, func(n *dibs.NameRecord) { n.Principal = fmt.Sprint(i) })
			b2 := *b
			b2.Rev, b2.Data = b.Rev+1, []byte(fmt.Sprint(i))
			parts := []dibs.Group{update(a, a2), update(b, &b2)}
			if i%2 == 1 {
				slices.Reverse(parts) // an engine that locks in the given order runs into a deadlock
			}
			groups = append(groups, join(parts...))
			written = append(written, []dibs.Record{a2, &b2})
		}
		e.has(a, b)
		e.has(written[e.race(handles, groups)]...)
	}
}
