package storetest

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/calldibs/dibs"
)

// list returns a page.
func (e *env) list(query dibs.ListQuery) []dibs.Record {
	e.Helper()
	records, err := e.store.List(e.Context(), query)
	if err != nil {
		e.Fatalf("List: %v", err)
	}
	if len(records) > query.Limit {
		e.Fatalf("List returned %d records, more than its limit, %d", len(records), query.Limit)
	}
	return records
}

// lists demands that a query returns exactly these records, in this order.
func (e *env) lists(query dibs.ListQuery, want ...dibs.Record) {
	e.Helper()
	what := query
	what.After = nil
	after := "the start"
	if query.After != nil {
		after = fmt.Sprintf("%+q", *query.After)
	}
	e.sameRecords(fmt.Sprintf("List of %+v from %s", what, after), e.list(query), want)
}

func (e *env) sameRecords(what string, got, want []dibs.Record) {
	e.Helper()
	for i := range min(len(got), len(want)) {
		if got[i].Ref() != want[i].Ref() {
			e.Fatalf("%s: record %d is %s, it must be %s", what, i+1, describe(got[i]), describe(want[i]))
		}
		if d := diff(got[i], want[i]); d != "" {
			e.Fatalf("%s: %s is not what was committed: %s", what, describe(want[i]), d)
		}
	}
	if len(got) != len(want) {
		e.Fatalf("%s returned %d records, it must return %d", what, len(got), len(want))
	}
}

// pages reads a listing to its end.
func (e *env) pages(query dibs.ListQuery) []dibs.Record {
	e.Helper()
	var all []dibs.Record
	for {
		page := e.list(query)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		if len(all) > 10_000 {
			e.Fatalf("the listing does not end")
		}
		query.After = positionOf(page[len(page)-1])
	}
}

func positionOf(record dibs.Record) *dibs.ListPosition {
	switch r := record.(type) {
	case *dibs.NameRecord:
		return &dibs.ListPosition{Namespace: r.Namespace, Label: r.Canonical}
	case *dibs.Document:
		return &dibs.ListPosition{Label: r.Label}
	}
	return &dibs.ListPosition{}
}

// oddNames makes names of all odd values, in byte order.
func oddNames() []dibs.Record {
	var records []dibs.Record
	for _, value := range inByteOrder(oddValues) {
		records = append(records, name("slug", value, dibs.Active))
	}
	return records
}

func listOrder(e *env) {
	names := oddNames()
	var documents []dibs.Record
	for _, value := range inByteOrder(oddValues) {
		documents = append(documents, document("storetest", value))
	}
	mixed := slices.Concat(names, documents)
	slices.Reverse(mixed)
	e.commit(create(mixed...))
	e.lists(dibs.ListQuery{Kind: dibs.KindName, Limit: 1000}, names...)
	e.lists(dibs.ListQuery{Kind: "storetest", Limit: 1000}, documents...)
}

func listNamespaces(e *env) {
	var all []dibs.Record
	for _, namespace := range orderedNamespaces {
		for _, canonical := range []string{"A", "a", "b", "é"} {
			all = append(all, name(namespace, canonical, dibs.Active))
		}
	}
	shuffled := slices.Clone(all)
	slices.Reverse(shuffled)
	e.commit(create(shuffled...))
	e.lists(dibs.ListQuery{Kind: dibs.KindName, Limit: 1000}, all...)
	for limit := 1; limit < len(all); limit += 3 {
		e.sameRecords("the pages together", e.pages(dibs.ListQuery{Kind: dibs.KindName, Limit: limit}), all)
	}
}

func listFilter(e *env) {
	states := []dibs.State{dibs.Active, dibs.Alias, dibs.Free, dibs.Held, dibs.Quarantined, dibs.Suspect}
	var all []dibs.Record
	for _, namespace := range []string{"acme.slug", "slug", "slug2"} {
		for i := range 12 {
			all = append(all, name(namespace, string(rune('a'+i)), states[i%len(states)]))
		}
	}
	labels := []dibs.Record{document(dibs.KindTally, "a"), document(dibs.KindTally, "c"), document(dibs.KindTally, "e")}
	e.commit(create(slices.Concat(all, labels, []dibs.Record{document(dibs.KindNamespace, "b"), entity("", dibs.Entity{Type: "user", ID: "1"})})...))

	after := func(namespace, label string) *dibs.ListPosition {
		return &dibs.ListPosition{Namespace: namespace, Label: label}
	}
	for _, query := range []dibs.ListQuery{
		{},
		{Namespace: "slug"},
		{Namespace: "slu"},
		{States: []dibs.State{dibs.Held}},
		{States: []dibs.State{dibs.Held, dibs.Suspect, dibs.Active}, Namespace: "slug2"},
		{From: "c"},
		{To: "c"},
		{From: "c", To: "f"},
		{From: "f", To: "c"},
		{From: "bb", To: "dd", Namespace: "acme.slug"},
		{After: after("slug", "c")},
		{After: after("slug", "cc")},
		{After: after("b", "")},
		{After: after("slug", "c"), Namespace: "slug"},
		{After: after("slug", "c"), From: "b", To: "e"},
		{Namespace: "slug", States: []dibs.State{dibs.Held, dibs.Free}, From: "b", To: "k", After: after("slug", "c")},
	} {
		for _, limit := range []int{1, 2, 5, 100} {
			query.Kind, query.Limit = dibs.KindName, limit
			e.lists(query, choose(query, all)...)
		}
	}
	for _, query := range []dibs.ListQuery{{}, {From: "b"}, {To: "e"}, {From: "c", To: "d"}, {After: after("", "a")}, {After: after("", "b")}} {
		query.Kind, query.Limit = dibs.KindTally, 2
		e.lists(query, choose(query, labels)...)
	}
	e.lists(dibs.ListQuery{Kind: "nothing", Limit: 10})
}

// choose returns the records that a query selects; records are in order.
func choose(query dibs.ListQuery, records []dibs.Record) []dibs.Record {
	var chosen []dibs.Record
	for _, record := range records {
		at := positionOf(record)
		n, isName := record.(*dibs.NameRecord)
		switch {
		case query.Namespace != "" && at.Namespace != query.Namespace,
			isName && len(query.States) > 0 && !slices.Contains(query.States, n.State),
			at.Label < query.From,
			query.To != "" && at.Label >= query.To,
			query.After != nil && at.Namespace < query.After.Namespace,
			query.After != nil && at.Namespace == query.After.Namespace && at.Label <= query.After.Label,
			len(chosen) == query.Limit:
		default:
			chosen = append(chosen, record)
		}
	}
	return chosen
}

func listRanges(e *env) {
	all := oddNames()
	e.commit(create(all...))
	values := inByteOrder(oddValues)
	for i, value := range values {
		query := dibs.ListQuery{Kind: dibs.KindName, Namespace: "slug", Limit: 1000, From: value}
		e.lists(query, all[i:]...)
		query.From, query.To = "", value
		e.lists(query, all[:i]...)
		// All values with a prefix: up to the first string without it.
		query.From, query.To = value, behindPrefix(value)
		e.lists(query, choose(query, all)...)
	}
}

// behindPrefix returns the first text that sorts after everything that begins
// with prefix: in UTF-8, code points sort like their bytes.
func behindPrefix(prefix string) string {
	last, size := utf8.DecodeLastRuneInString(prefix)
	return prefix[:len(prefix)-size] + string(last+1)
}

func listPaging(e *env) {
	all := oddNames()
	e.commit(create(all...))
	e.commit(create(name("slug2", "a", dibs.Active), name("a.slug", "a", dibs.Active), document(dibs.KindTally, "a")))
	for _, limit := range []int{1, 2, 3, 7, len(all) - 1, len(all), len(all) + 1} {
		query := dibs.ListQuery{Kind: dibs.KindName, Namespace: "slug", Limit: limit}
		e.sameRecords(fmt.Sprintf("pages of %d together", limit), e.pages(query), all)
	}
}

func listPagingChanges(e *env) {
	kinds := map[dibs.Kind]func(label string) dibs.Record{
		dibs.KindName:  func(label string) dibs.Record { return name("slug", label, dibs.Active) },
		dibs.KindTally: func(label string) dibs.Record { return document(dibs.KindTally, label) },
	}
	for kind, record := range kinds {
		e.commit(create(record("b"), record("d"), record("f"), record("h"), record("j")))
		query := dibs.ListQuery{Kind: kind, Limit: 2}
		e.lists(query, record("b"), record("d"))

		// The last record of the page is deleted, and some before it are created.
		e.commit(join(create(record("a"), record("c"), record("e")), remove(record("d"))))
		query.After = positionOf(record("d"))
		e.lists(query, record("e"), record("f"))

		e.commit(join(remove(record("b"), record("h")), create(record("g"))))
		query.After = positionOf(record("f"))
		e.lists(query, record("g"), record("j"))
		query.After = positionOf(record("j"))
		e.lists(query)
	}
}

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
