package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// counted demands that the engine counts exactly these names, and the held ones among them
// whose Due date is at or before soon.
func (e *env) counted(soon dibs.Instant, names ...*dibs.NameRecord) {
	e.Helper()
	stats, err := e.store.Count(e.Context(), soon)
	if err != nil {
		e.Fatalf("Count: %v", err)
	}
	want, wantHeld := make(map[string]int), 0
	for _, n := range names {
		if n.State != dibs.Free {
			want[fmt.Sprint(n.Namespace, " ", n.State)]++
		}
		if n.State == dibs.Held && n.Due != 0 && n.Due <= soon {
			wantHeld++
		}
	}
	got := make(map[string]int)
	for _, c := range stats.Names {
		if c.Count != 0 { // an engine may list a state that no name has any more
			got[fmt.Sprint(c.Namespace, " ", c.State)] += c.Count
		}
	}
	if g, w := countText(got), countText(want); g != w {
		e.Fatalf("the engine counts %s, it must count %s", g, w)
	}
	if stats.EndingSoon != wantHeld {
		e.Fatalf("the engine counts %d held names that are due at %d or before, it must count %d", stats.EndingSoon, soon, wantHeld)
	}
}

func countText(counts map[string]int) string {
	var list []string
	for key, n := range counts {
		list = append(list, fmt.Sprint(key, ": ", n))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func countChanges(e *env) {
	held := func(canonical string, due dibs.Instant) *dibs.NameRecord {
		n := name("slug", canonical, dibs.Held)
		n.Due = due
		return n
	}
	a, b, c := held("a", 1000), held("b", 2000), held("c", 3000)
	d := name("acme.slug", "d", dibs.Active)
	e.counted(0)
	e.commit(create(a, document(dibs.KindTally, "a")), create(b), create(c), create(d))
	e.counted(2000, a, b, c, d)

	// Every kind of change of a state, and none.
	confirmed := next(a, func(n *dibs.NameRecord) { *n = *name("slug", "a", dibs.Active); n.Rev = a.Rev + 1 })
	later := next(b, func(n *dibs.NameRecord) { n.Due = 5000 })
	freed := next(c, func(n *dibs.NameRecord) { *n = *name("slug", "c", dibs.Free); n.Rev = c.Rev + 1 })
	e.commit(update(a, confirmed), update(b, later), update(c, freed))
	e.counted(4999, confirmed, later, freed, d)
	e.counted(5000, confirmed, later, freed, d)

	// Two changes of one group, one call with a stale group, and a deletion.
	alias := next(confirmed, func(n *dibs.NameRecord) { *n = *name("slug", "a", dibs.Alias); n.Rev = confirmed.Rev + 1 })
	again := next(freed, func(n *dibs.NameRecord) { *n = *name("slug", "c", dibs.Suspect); n.Rev = freed.Rev + 1 })
	e.commit(join(yield(confirmed, alias), update(freed, again)))
	e.stale("its name has changed", update(confirmed, next(confirmed, func(n *dibs.NameRecord) { n.State = dibs.Held })))
	e.commit(remove(d))
	e.counted(5000, alias, later, again)

	renewed := name("slug", "b", dibs.Quarantined)
	renewed.Rev = later.Rev + 1
	e.commit(renew(later, renewed))
	e.counted(5000, alias, renewed, again)
	e.commit(remove(alias, renewed, again))
	e.counted(5000)
}

// ending demands that the engine lists exactly these held names before a date, in this order.
func (e *env) ending(query dibs.ListQuery, names ...*dibs.NameRecord) {
	e.Helper()
	query.Kind = dibs.KindName
	records, err := e.store.List(e.Context(), query)
	if err != nil {
		e.Fatalf("List: %v", err)
	}
	var got, want []string
	for _, r := range records {
		n, ok := r.(*dibs.NameRecord)
		if !ok {
			e.Fatalf("List returned a %T for a name", r)
		}
		got = append(got, fmt.Sprint(n.Key(), " at revision ", n.Rev, " due ", n.Due))
	}
	for _, n := range names {
		want = append(want, fmt.Sprint(n.Key(), " at revision ", n.Rev, " due ", n.Due))
	}
	if !slices.Equal(got, want) {
		e.Fatalf("the engine lists %v, it must list %v", got, want)
	}
}

func listDue(e *env) {
	held := func(namespace, canonical string, due dibs.Instant) *dibs.NameRecord {
		n := name(namespace, canonical, dibs.Held)
		n.Due = due
		return n
	}
	now := e.now()
	a, b, c := held("slug", "a", now+3000), held("slug", "b", now+1000), held("acme.slug", "c", now+2000)
	late, endless := held("slug", "late", now+90_000), held("slug", "endless", 0)
	kept := name("slug", "kept", dibs.Quarantined)
	kept.Due = now + 1500
	d := document(dibs.KindTally, "d")
	d.Due = now + 500
	e.commit(create(a), create(b), create(c), create(late), create(endless), create(kept), create(d))
	e.ending(dibs.ListQuery{DueBefore: now + 60_000, Limit: 10}, b, c, a)
	e.ending(dibs.ListQuery{DueBefore: now + 60_000, Limit: 2}, b, c)
	e.ending(dibs.ListQuery{DueBefore: now + 60_000, Limit: 10, Namespace: "slug"}, b, a)
	e.ending(dibs.ListQuery{DueBefore: now + 60_000, Limit: 10, Namespace: "other.slug"})
	e.ending(dibs.ListQuery{DueBefore: now + 3000, Limit: 10}, b, c)
	e.ending(dibs.ListQuery{DueBefore: now + 3001, Limit: 10}, b, c, a)
	// A name that was extended has another date, and one that is not held has none here.
	b2 := next(b, func(n *dibs.NameRecord) { n.Due = now + 4000 })
	c2 := next(c, func(n *dibs.NameRecord) { n.State, n.Status = dibs.Suspect, dibs.StatusSuspect })
	e.commit(join(update(b, b2), update(c, c2)))
	e.ending(dibs.ListQuery{DueBefore: now + 60_000, Limit: 10}, a, b2)
	e.ending(dibs.ListQuery{DueBefore: now + 1, Limit: 10})
}
