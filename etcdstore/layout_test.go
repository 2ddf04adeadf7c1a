//go:build unix

package etcdstore_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// meter counts the requests of a store, and the keys that etcd returns.
type meter struct{ requests, keys atomic.Int64 }

func (m *meter) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, conn, opts...)
	if answer, ok := reply.(*etcdserverpb.TxnResponse); ok {
		m.requests.Add(1)
		for _, response := range answer.Responses {
			m.keys.Add(int64(len(response.GetResponseRange().GetKvs())))
		}
	}
	return err
}

// reset returns what was counted since the last time.
func (m *meter) reset() (requests, keys int64) { return m.requests.Swap(0), m.keys.Swap(0) }

// metered returns a config for a prefix of its own, whose requests are counted.
func metered(t *testing.T) (etcdstore.Config, *meter) {
	t.Helper()
	cluster, m := etcdtest.Shared(t), new(meter)
	cfg := etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), Timeout: patience}
	return etcdstore.Intercept(cfg, m.intercept), m
}

// keysOf counts the keys under a prefix.
func keysOf(t *testing.T, prefix string) int {
	t.Helper()
	found, err := etcdtest.Shared(t).Client(t).Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	return int(found.Count)
}

// A lone command is one request.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	cfg, m := metered(t)
	reg := register(t, cfg, dibs.Config{SweepEvery: -1})
	reserve := func(value string) dibs.Hold {
		hold, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: value})
		if err != nil {
			t.Fatal(err)
		}
		return hold
	}
	reserve("first") // creates the namespace
	var hold dibs.Hold
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"reserve", func() error { hold = reserve("lone"); return nil }},
		{"extend", func() error {
			_, err := reg.Extend(t.Context(), dibs.Extend{ID: hold.ID, Token: hold.Token, TTL: dibs.For(time.Hour)})
			return err
		}},
		{"confirm", func() error {
			_, err := reg.Confirm(t.Context(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: dibs.Entity{Type: "user", ID: "1"}})
			return err
		}},
	} {
		m.reset()
		if err := c.call(); err != nil {
			t.Fatal(err)
		}
		if requests, _ := m.reset(); requests != 1 {
			t.Errorf("%s: %d requests, want 1", c.name, requests)
		}
	}
}

// inState makes a group that stores a new name in a state.
func inState(namespace, canonical string, state dibs.State) dibs.Group {
	g := newName(canonical, "a")
	n := g.Writes[0].Record.(*dibs.NameRecord)
	n.ID, n.Namespace, n.State = dibs.NameID(namespace, canonical), namespace, state
	g.Reads[0].Ref, g.Events = n.Ref(), nil
	return g
}

// Lists read what they return, whatever else there is, and Count reads no names.
func TestListsReadWhatTheyReturn(t *testing.T) {
	t.Parallel()
	cfg, m := metered(t)
	store := open(t, cfg)
	const names = 300
	var groups []dibs.Group
	for _, namespace := range []string{"a", "b", "c"} {
		for i := range names {
			groups = append(groups, inState(namespace, fmt.Sprintf("name-%03d", i), dibs.Active))
		}
		groups = append(groups, inState(namespace, "other", dibs.Active), inState(namespace, "rare", dibs.Suspect))
	}
	commit(t, store, groups...)
	for _, c := range []struct {
		name  string
		query dibs.ListQuery
		want  int
		most  int64 // keys read
	}{
		{"a rare state", dibs.ListQuery{States: []dibs.State{dibs.Suspect, dibs.Quarantined}}, 3, 6},
		{"a prefix in all namespaces", dibs.ListQuery{From: "o", To: "p"}, 3, 20},
		{"a rare state in bounds", dibs.ListQuery{States: []dibs.State{dibs.Suspect}, From: "r", To: "s"}, 3, 12},
		{"a namespace", dibs.ListQuery{Namespace: "b", From: "name-1", To: "name-2"}, 10, 20},
		{"everything", dibs.ListQuery{}, 10, 23},
	} {
		c.query.Kind, c.query.Limit = dibs.KindName, 10
		m.reset()
		found, err := store.List(t.Context(), c.query)
		_, keys := m.reset()
		if err != nil || len(found) != c.want || keys > c.most {
			t.Errorf("%s: %d names of %d keys, %v; want %d of at most %d", c.name, len(found), keys, err, c.want, c.most)
		}
	}
	stats, err := store.Count(t.Context(), 0)
	requests, keys := m.reset()
	if err != nil || len(stats.Names) != 6 || requests > 6 || keys > 12 {
		t.Errorf("count: %+v, %v, with %d requests and %d keys", stats, err, requests, keys)
	}
}

// changed makes a group that changes a name, and tells it.
func changed(n *dibs.NameRecord) (dibs.Group, *dibs.NameRecord) {
	later := *n
	later.Rev++
	g := newName(n.Canonical, "a")
	g.Reads[0].Rev, g.Writes[0].Record = n.Rev, &later
	g.Events[0].Rev, g.Events[0].Kind, g.Events[0].Actor = later.Rev, dibs.EventExtended, "alice"
	return g, &later
}

// A long history moves out of the name's record. Its events stay where they are in the feed, and
// can be redacted.
func TestEventsOfALongHistory(t *testing.T) {
	t.Parallel()
	cfg, _ := metered(t)
	store := open(t, cfg)
	first := newName("long", "a")
	commit(t, store, first)
	n := first.Writes[0].Record.(*dibs.NameRecord)
	for range 9 {
		g, later := changed(n)
		commit(t, store, g, newName(fmt.Sprint("beside-", later.Rev), "a"))
		n = later
	}
	history := func() []dibs.Event {
		var all []dibs.Event
		for after := dibs.Cursor(""); ; after = all[len(all)-1].Cursor {
			page, err := store.Events(t.Context(), dibs.EventQuery{Name: n.ID, After: after, Limit: 3})
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, page...); len(page) < 3 {
				return all
			}
		}
	}
	feed := func() (all []dibs.Event) {
		page, err := store.Events(t.Context(), dibs.EventQuery{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range slices.Backward(page) {
			if event.ID == n.ID {
				all = append(all, event)
			}
		}
		return all
	}
	same := func(a, b dibs.Event) bool { return a.Cursor == b.Cursor && a.Rev == b.Rev && a.Actor == b.Actor }
	all := history()
	if len(all) != 10 || !slices.EqualFunc(all, feed(), same) {
		t.Fatalf("the history is %v, the feed %v", all, feed())
	}
	for _, i := range []int{0, 5} { // one in the record, one that has moved
		g, later := changed(n)
		redacted := all[i]
		redacted.Actor = ""
		g.Events, g.Redacts = nil, []dibs.Event{redacted}
		commit(t, store, g)
		n, all[i] = later, redacted
	}
	if !slices.EqualFunc(history(), all, same) || !slices.EqualFunc(feed(), all, same) {
		t.Errorf("after redaction the history is %v, the feed %v, want %v", history(), feed(), all)
	}
	gone := dibs.Group{Reads: []dibs.Read{{Ref: n.Ref(), Rev: n.Rev}}, Writes: []dibs.Write{{Record: n, Delete: true}}}
	commit(t, store, gone)
	if left := keysOf(t, cfg.Prefix+"h"); left != 0 || len(feed()) != 0 {
		t.Errorf("%d events are left, and %v in the feed", left, feed())
	}
}

// Due dates that no longer count are not returned, and go away: those of stale groups, of
// records that have changed, and, if the name is forgotten, those to come.
func TestDueDatesThatNoLongerCount(t *testing.T) {
	t.Parallel()
	cfg, _ := metered(t)
	store := open(t, cfg)
	now, _ := store.Now()
	dueAt := func(canonical string, due dibs.Instant) dibs.Group {
		g := newName(canonical, "a")
		g.Writes[0].Record.(*dibs.NameRecord).Due = due
		return g
	}
	due := func() (names []dibs.ID) {
		refs, err := store.Due(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range refs {
			names = append(names, ref.ID)
		}
		return names
	}
	const hour = 3_600_000
	id := func(canonical string) dibs.ID { return dibs.NameID("slug", canonical) }
	commit(t, store, dueAt("first", now-hour), dueAt("second", now-hour+1), dueAt("third", now-2), dueAt("later", now+hour))
	commit(t, store, dueAt("first", now-2*hour)) // stale
	if got := due(); !slices.Equal(got, []dibs.ID{id("first"), id("second")}) {
		t.Errorf("due: %v", got)
	}
	for _, canonical := range []string{"first", "second"} {
		g, later := changed(dueAt(canonical, 0).Writes[0].Record.(*dibs.NameRecord))
		later.Due = now + hour
		commit(t, store, g)
	}
	if got := due(); !slices.Equal(got, []dibs.ID{id("third")}) {
		t.Errorf("due: %v", got)
	}
	due()
	if n := keysOf(t, cfg.Prefix+"t"); n != 4 { // third, later, and those of the changes
		t.Errorf("%d keys with due dates, want 4", n)
	}
	for _, canonical := range []string{"first", "second", "later", "third"} {
		found, err := store.Load(t.Context(), []dibs.Ref{{Kind: dibs.KindName, ID: id(canonical)}})
		if err != nil || len(found.Records) != 1 {
			t.Fatal(found, err)
		}
		n := found.Records[0]
		commit(t, store, dibs.Group{Reads: []dibs.Read{{Ref: n.Ref(), Rev: n.Revision()}}, Writes: []dibs.Write{{Record: n, Delete: true}}})
	}
	if got := due(); len(got) != 0 {
		t.Errorf("due: %v", got)
	}
	if n := keysOf(t, cfg.Prefix+"t"); n != 0 {
		t.Errorf("%d keys with due dates, want none", n)
	}
}
