package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

func commitReads(e *env) {
	n, other := name("slug", "a", dibs.Active), name("slug", "b", dibs.Active)
	n.Rev = 5
	e.commit(create(n, other))
	for _, rev := range []uint64{0, 1, 4, 6, 1 << 40} {
		wrong := next(n, nil)
		wrong.Rev = 1<<40 + 1
		g := join(update(other, next(other, nil)), update(n, wrong))
		g.Reads[1].Rev = rev
		e.stale(fmt.Sprintf("the record has revision 5, the group read %d", rev), g)
	}
	absent := name("slug", "c", dibs.Active)
	absent.Rev = 3
	e.stale("the record is absent, the group read revision 3", update(absent, next(absent, nil)))
	e.stale("the record is absent, the group read revision 3", remove(absent))
	e.has(n, other)
	e.lacks(absent)

	// With the right revisions the whole group is committed, and only once.
	g := join(update(other, next(other, nil)), update(n, next(n, nil)), create(absent))
	e.commit(g)
	e.has(next(n, nil), next(other, nil), absent)
	e.stale("the group was committed before", g)
	e.commit(remove(absent))
	e.stale("the record was deleted meanwhile", update(absent, next(absent, nil)))
}

func commitReadOnly(e *env) {
	n, d := name("slug", "a", dibs.Active), document(dibs.KindNamespace, "slug")
	r := entity("", dibs.Entity{Type: "user", ID: "1"})
	e.commit(create(n, d, r))
	for i, record := range []dibs.Record{n, d, r} {
		e.commit(join(reading(record), create(document(dibs.KindTally, fmt.Sprintf("right %d", i)))))
		written := document(dibs.KindTally, fmt.Sprintf("wrong %d", i))
		for _, rev := range []uint64{2, 7} {
			g := join(reading(record), create(written))
			g.Reads[0].Rev = rev
			e.stale(fmt.Sprintf("%s has another revision than the group read", describe(record)), g)
		}
		e.lacks(written)
	}
	e.commit(remove(d))
	written := document(dibs.KindTally, "after the end")
	e.stale("a record that the group read is gone", join(create(written), reading(d)))
	e.lacks(written)
	e.has(n, r) // reading a record does not change it
}

func commitSkew(e *env) {
	handles := e.handles()
	for round := range 20 {
		a, b := name("slug", fmt.Sprintf("a%d", round), dibs.Active), name("slug", fmt.Sprintf("b%d", round), dibs.Active)
		e.commit(create(a, b))
		groups := []dibs.Group{
			join(update(a, next(a, nil)), reading(b)),
			join(update(b, next(b, nil)), reading(a)),
		}
		outcomes := make([]dibs.Outcome, 2)
		e.together(2, func(i int) (err error) {
			outcomes[i], err = commitOne(e.Context(), handles[i%len(handles)], groups[i])
			return err
		})
		if outcomes[0] == dibs.Committed && outcomes[1] == dibs.Committed {
			e.Fatalf("two groups were committed, each of which changed what the other read")
		}
	}
}

func commitWindow(e *env) {
	count := 0
	try := func(window dibs.Window, inside bool) {
		e.Helper()
		count++
		n := name("slug", fmt.Sprint(count), dibs.Held)
		g := join(claim(n), within(window))
		if inside {
			e.commit(g)
			e.has(n)
			return
		}
		e.stale(fmt.Sprintf("the clock says %d, the window is from %d to before %d", e.now(), window.From, window.Before), g)
		e.lacks(n)
	}
	// Fractions of a millisecond do not count.
	for _, fraction := range []time.Duration{0, 500 * time.Microsecond, 999_999 * time.Nanosecond} {
		e.clock.Set(epoch.Add(fraction))
		now := e.now()
		try(dibs.Window{}, true)
		try(dibs.Window{From: now}, true)
		try(dibs.Window{From: now - 1}, true)
		try(dibs.Window{From: now + 1}, false)
		try(dibs.Window{Before: now + 1}, true)
		try(dibs.Window{Before: now}, false)
		try(dibs.Window{Before: now - 1}, false)
		try(dibs.Window{From: now, Before: now + 1}, true)
		try(dibs.Window{From: now - 1, Before: now}, false)
		try(dibs.Window{From: now + 1, Before: now + 2}, false)
	}
}

func commitWindowMoves(e *env) {
	n := name("slug", "a", dibs.Held)
	start := e.now()
	early := join(claim(n), within(dibs.Window{From: start + 1}))
	e.stale("the window has not begun", early)
	e.clock.Advance(time.Millisecond)
	e.commit(early)

	late, _ := touch(n)
	late.Window = dibs.Window{Before: start + 10}
	e.clock.Advance(9 * time.Millisecond)
	e.stale("the window is over", late)
	e.clock.Advance(-time.Millisecond) // clocks are sometimes set back
	e.commit(late)
}

func commitStale(e *env) {
	kept, changed, gone := name("slug", "kept", dibs.Active), name("slug", "changed", dibs.Active), name("slug", "gone", dibs.Active)
	e.commit(claim(kept), claim(changed), claim(gone))
	fresh := name("slug", "fresh", dibs.Active)
	touched, _ := touch(changed)
	everything := func(more dibs.Group) dibs.Group {
		return join(remove(gone), touched, claim(fresh), more)
	}
	wrong := reading(kept)
	wrong.Reads[0].Rev = 9
	before := e.feed(dibs.EventQuery{})

	e.stale("a record has another revision", everything(wrong))
	e.stale("the record exists, the group read it as absent", everything(create(kept)))
	e.stale("the window is over", everything(within(dibs.Window{Before: e.now()})))
	e.has(kept, changed, gone)
	e.lacks(fresh)
	e.sameEvents(e.feed(dibs.EventQuery{}), before)

	e.commit(everything(reading(kept)))
	e.has(next(changed, nil), fresh, kept)
	e.lacks(gone)
}

func commitStaleNeighbours(e *env) {
	const n = 50
	taken := name("slug", "taken", dibs.Active)
	e.commit(claim(taken))
	var groups []dibs.Group
	var names []*dibs.NameRecord
	for i := range n {
		fresh := name("slug", fmt.Sprint(i), dibs.Active)
		g := join(claim(fresh), create(document(dibs.KindTally, fmt.Sprint(i))))
		switch i {
		case 10:
			g = join(g, create(name("slug", "taken", dibs.Held)))
		case 20:
			g = join(g, within(dibs.Window{Before: e.now()}))
		}
		groups, names = append(groups, g), append(names, fresh)
	}
	outcomes := e.attempt(groups...)
	if outcomes[10] != dibs.Stale || outcomes[20] != dibs.Stale {
		e.Fatalf("groups 10 and 20 read wrong revisions, their outcomes are %v and %v", outcomes[10], outcomes[20])
	}
	// The others may be stale as well, but each is committed as a whole or not at all.
	for i, outcome := range outcomes {
		events := len(e.history(names[i].ID))
		if outcome == dibs.Committed {
			e.has(names[i], document(dibs.KindTally, fmt.Sprint(i)))
		} else {
			e.lacks(names[i], document(dibs.KindTally, fmt.Sprint(i)))
		}
		if want := int(outcome); events != want {
			e.Fatalf("group %d has outcome %v and %d events in the feed, it must have %d", i, outcome, events, want)
		}
	}
	e.has(taken)

	// Without the stale groups all of them are committed in one call.
	e.clock.Advance(time.Hour)
	var rest []dibs.Group
	for i := range n {
		rest = append(rest, claim(name("slug", fmt.Sprintf("again %d", i), dibs.Active)))
	}
	e.commit(rest...)
}

// commitStaleSecondName tries groups that read an old revision of an entity's active name,
// from when it was an alias, so they do not set Yields.
func commitStaleSecondName(e *env) {
	owner := dibs.Entity{Type: "user", ID: "1"}
	old, other := ownedBy(owner, "slug", "a", dibs.Alias), ownedBy(owner, "slug", "b", dibs.Alias)
	neighbour := name("slug", "neighbour", dibs.Held)
	e.commit(create(old, other, neighbour))
	active := gives(old, owner, dibs.Active)
	e.commit(update(old, active))

	stays := update(old, gives(old, owner, dibs.Alias))
	gains := gives(other, owner, dibs.Active)
	fresh := ownedBy(owner, "slug", "c", dibs.Active)
	second := map[string]dibs.Group{
		"changed":  update(other, gains),
		"renewed":  renew(other, gains),
		"new":      create(fresh),
		"together": join(update(other, gains), update(neighbour, next(neighbour, nil))),
	}
	for what, gain := range second {
		why := "the active name has another revision than the group read, and the name that becomes active is " + what
		e.stale(why, join(stays, gain))
		e.stale(why, join(gain, stays))
	}
	tokenless := next(other, func(n *dibs.NameRecord) {
		n.State, n.Status, n.Owner, n.Token, n.ExpiresAt = dibs.Held, dibs.StatusReserved, dibs.Entity{}, dibs.TokenHash{}, 0
	})
	e.stale("the record exists, the group read it as absent, and its new content is invalid", create(tokenless))
	e.has(active, other, neighbour)
	e.lacks(fresh)
}

func commitRevision(e *env) {
	n, d := name("slug", "a", dibs.Active), document(dibs.KindTally, "a")
	r := entity("", dibs.Entity{Type: "user", ID: "1"})
	n.Rev, d.Rev, r.Rev = 41, 1<<40, 7
	e.commit(create(n, d, r))
	e.has(n, d, r)
	n2, d2, r2 := *n, *d, *r
	n2.Rev, d2.Rev, r2.Rev = 44, 1<<62, 8 // revisions may be skipped
	e.commit(join(update(n, &n2), update(d, &d2), update(r, &r2)))
	e.has(&n2, &d2, &r2)
	e.stale("the revision in between never existed", update(next(n, nil), next(&n2, nil)))

	// A name that is created again continues its revisions.
	e.commit(remove(&n2))
	back := next(&n2, nil)
	e.commit(create(back))
	e.has(back)
}

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
