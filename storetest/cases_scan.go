package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

// isDue demands that exactly these records are due, in this order.
func (e *env) isDue(limit int, want ...dibs.Record) {
	e.Helper()
	got, err := e.store.Due(e.Context(), limit)
	if err != nil {
		e.Fatalf("Due: %v", err)
	}
	if !slices.Equal(got, refsOf(want...)) {
		e.Fatalf("Due with limit %d returned %v, it must return %v", limit, got, refsOf(want...))
	}
}

// owns demands that an entity has exactly these names, in this order.
func (e *env) owns(scope string, owner dibs.Entity, limit int, want ...*dibs.NameRecord) {
	e.Helper()
	got, err := e.store.Owned(e.Context(), scope, owner, limit)
	if err != nil {
		e.Fatalf("Owned: %v", err)
	}
	if !slices.Equal(keys(got), keys(want)) {
		e.Fatalf("Owned by %v in scope %q with limit %d returned %+q, it must return %+q", owner, scope, limit, keys(got), keys(want))
	}
	for i := range want {
		if d := diff(got[i], want[i]); d != "" {
			e.Fatalf("Owned: %s is not what was committed: %s", describe(want[i]), d)
		}
	}
}

func keys(names []*dibs.NameRecord) []string {
	var keys []string
	for _, n := range names {
		keys = append(keys, n.Key())
	}
	return keys
}

func dueOrder(e *env) {
	now := e.now()
	n, n2 := name("slug", "a", dibs.Held), name("acme.slug", "b", dibs.Held)
	r := entity("acme", dibs.Entity{Type: "user", ID: "1"})
	d, d2 := document(dibs.KindTally, "d"), document("storetest", "d2")
	later := name("slug", "later", dibs.Held)
	d2.Scope = "acme"
	n.Due, d.Due, r.Due, n2.Due, d2.Due, later.Due = now-2, now-1, now-500, now-24*3600*1000, now-3, now+1
	e.commit(create(n, d, r, n2, d2, later))
	all := []dibs.Record{n2, r, d2, n, d}
	for limit := 1; limit <= 6; limit++ {
		e.isDue(limit, all[:min(limit, len(all))]...)
	}
	// A record that was updated is no longer due, or has another date.
	n2b := next(n2, func(n *dibs.NameRecord) { n.Due = now - 4 })
	nb := next(n, func(n *dibs.NameRecord) { n.Due = now + 5 })
	e.commit(join(update(n2, n2b), update(n, nb), remove(d2)))
	e.isDue(10, r, n2b, d)
	e.clock.Advance(time.Millisecond)
	e.isDue(10, r, n2b, d, later)
}

func dueExact(e *env) {
	n, d := name("slug", "a", dibs.Held), document(dibs.KindTally, "a")
	n.Due, d.Due = e.now()+1, e.now()+2
	e.commit(create(n, d))
	e.isDue(10)
	e.clock.Advance(999 * time.Microsecond)
	e.isDue(10)
	e.clock.Advance(time.Microsecond)
	e.isDue(10, n)
	e.clock.Advance(time.Millisecond)
	e.isDue(10, n, d)
}

func dueNone(e *env) {
	n, d := name("slug", "a", dibs.Held), document(dibs.KindTally, "a")
	r := entity("", dibs.Entity{Type: "user", ID: "1"})
	e.commit(create(n, d, r))
	e.isDue(10)
	e.clock.Advance(100 * 365 * 24 * time.Hour)
	e.isDue(10)
	dated := next(n, func(n *dibs.NameRecord) { n.Due = e.now() })
	e.commit(update(n, dated))
	e.isDue(10, dated)
	e.commit(update(dated, next(dated, func(n *dibs.NameRecord) { n.Due = 0 })))
	e.isDue(10)
}

// orderedNamespaces are namespaces in byte order, chosen so that a comparison of
// joined keys gives another order: "a-b:" sorts before "a:".
var orderedNamespaces = []string{"a", "a-b", "a-b.c", "a.b", "a.b.c", "a0", "a_b", "ab", "b"}

func ownedOrder(e *env) {
	owner := dibs.Entity{Type: "user", ID: "1"}
	var namespaces []string // of one scope
	for _, suffix := range []string{"s", "s-t", "s0", "s_t", "st", "t"} {
		namespaces = append(namespaces, "acme."+suffix)
	}
	var all []*dibs.NameRecord
	var records []dibs.Record
	for _, namespace := range namespaces {
		for i, canonical := range inByteOrder([]string{"b", "B", "a", "é", "e\u0301", "z", "\uff5e", "\U00010000", " a", "a-", "a0"}) {
			state := dibs.Alias
			if i == 3 {
				state = dibs.Active // one for each namespace
			}
			n := ownedBy(owner, namespace, canonical, state)
			all, records = append(all, n), append(records, n)
		}
	}
	slices.Reverse(records)
	e.commit(create(records...))
	for _, limit := range []int{1, 2, 12, len(all), len(all) + 1, 1000} {
		e.owns("acme", owner, limit, all[:min(limit, len(all))]...)
	}
}

func ownedExact(e *env) {
	// One name for each of many nearly equal entities.
	entities := []dibs.Entity{
		{Type: "user", ID: "1"},
		{Type: "User", ID: "1"},
		{Type: "user", ID: "01"},
		{Type: "user ", ID: "1"},
		{Type: "user", ID: "1 "},
		{Type: "user", ID: "é"},
		{Type: "user", ID: "e\u0301"},
		{Type: "user", ID: "É"},
		{Type: "user/1", ID: "1"},
		{Type: "user", ID: "1/1"},
		{Type: "user", ID: "%"},
		{Type: "user", ID: "_"},
		{Type: "1", ID: "user"},
		{Type: "user:1", ID: "1"},
		{Type: "user", ID: "1:1"},
	}
	for _, namespace := range []string{"slug", "acme.slug", "acme.eu.slug", "acme-eu.slug"} {
		var records []dibs.Record
		for i, owner := range entities {
			records = append(records, ownedBy(owner, namespace, fmt.Sprint(i), dibs.Active))
		}
		e.commit(create(records...))
	}
	for _, scope := range []string{"", "acme", "acme.eu", "acme-eu"} {
		namespace := "slug"
		if scope != "" {
			namespace = scope + ".slug"
		}
		for i, owner := range entities {
			e.owns(scope, owner, 10, ownedBy(owner, namespace, fmt.Sprint(i), dibs.Active))
		}
	}
	e.owns("nowhere", entities[0], 10)
	e.owns("", dibs.Entity{Type: "user", ID: "nobody"}, 10)
	e.owns("", dibs.Entity{}, 10)
}

func ownedGivenUp(e *env) {
	owner, other := dibs.Entity{Type: "user", ID: "1"}, dibs.Entity{Type: "user", ID: "2"}
	active, alias := ownedBy(owner, "slug", "active", dibs.Active), ownedBy(owner, "slug", "alias", dibs.Alias)
	records := []dibs.Record{active, alias}
	for i, s := range standings {
		if s.state == dibs.Active || s.state == dibs.Alias {
			continue
		}
		n := ownedBy(owner, "slug", fmt.Sprintf("not now %d", i), s.state) // Owner is the last one
		n.Status, n.Intended = s.status, owner
		records = append(records, n)
	}
	e.commit(create(records...))
	e.owns("", owner, 100, active, alias)

	// Each is no longer listed when it is given up or gets another owner.
	alias2 := gives(alias, other, dibs.Active)
	e.commit(update(alias, alias2))
	e.owns("", owner, 100, active)
	e.owns("", other, 100, alias2)
	active2 := gives(active, owner, dibs.Quarantined)
	active2.Until = e.now() + 1
	e.commit(yield(active, active2))
	e.owns("", owner, 100)
	e.commit(update(active2, gives(active2, owner, dibs.Free)))
	e.owns("", owner, 100)
}
