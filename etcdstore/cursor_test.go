//go:build unix

package etcdstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// restored returns a store with what another one has at this moment, as a snapshot of etcd would.
func restored(t *testing.T, from etcdstore.Config) *etcdstore.Store {
	t.Helper()
	cluster := etcdtest.Shared(t)
	client, to := cluster.Client(t), from
	to.Prefix = cluster.Prefix()
	found, err := client.Get(t.Context(), from.Prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range found.Kvs {
		if _, err := client.Put(t.Context(), to.Prefix+strings.TrimPrefix(string(kv.Key), from.Prefix), string(kv.Value)); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, to)
}

// cursorsOf returns the cursors of all events, after a cursor.
func cursorsOf(t *testing.T, store *etcdstore.Store, after dibs.Cursor) (all []dibs.Cursor) {
	t.Helper()
	page, err := store.Events(t.Context(), dibs.EventQuery{After: after, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range page {
		all = append(all, event.Cursor)
	}
	return all
}

// After a restore, cursors from before the snapshot lead to the same events. Later ones are
// refused, in the feed and in a history, until the feed has grown past them.
func TestCursorsFromBeforeARestore(t *testing.T) {
	t.Parallel()
	cfg, _ := metered(t)
	live := open(t, cfg)
	for i := range 3 {
		commit(t, live, newName(fmt.Sprint("kept-", i), "a"))
	}
	kept := cursorsOf(t, live, "")
	past := restored(t, cfg)
	end, err := live.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	commit(t, live, newName("lost", "a"))
	lost := cursorsOf(t, live, end)
	after, err := live.Latest(t.Context())
	if err != nil || len(kept) != 3 || len(lost) != 1 {
		t.Fatal(kept, lost, err)
	}
	for i, cursor := range kept {
		if got := cursorsOf(t, past, cursor); fmt.Sprint(got) != fmt.Sprint(kept[i+1:]) {
			t.Errorf("after %s: %v, want %v", cursor, got, kept[i+1:])
		}
	}
	if got := cursorsOf(t, past, end); len(got) != 0 {
		t.Errorf("after the end: %v", got)
	}
	for _, cursor := range []dibs.Cursor{lost[0], after} {
		for _, name := range []dibs.ID{{}, dibs.NameID("slug", "kept-0")} {
			if _, err := past.Events(t.Context(), dibs.EventQuery{After: cursor, Name: name, Limit: 1}); !errors.Is(err, dibs.ErrBadCursor) {
				t.Errorf("after %s, which is lost, of the name %s: %v, want ErrBadCursor", cursor, name, err)
			}
		}
	}
	commit(t, past, newName("new", "a"))
	if got := cursorsOf(t, past, lost[0]); len(got) != 1 {
		t.Errorf("after a lost event, once the feed has grown: %v, want the new event", got)
	}
}

// Only texts that the store itself returns are cursors.
func TestBadCursors(t *testing.T) {
	t.Parallel()
	cfg, _ := metered(t)
	store := open(t, cfg)
	commit(t, store, newName("a", "a"))
	good := string(cursorsOf(t, store, "")[0])
	for _, cursor := range []string{
		"x", "0", "00", good[:len(good)-2], good + "00", strings.ToUpper(good[:1]) + "F" + good[2:], " " + good, good + "\n",
		strings.Repeat("f", len(good)), "17", fmt.Sprint(len(good)), // numbers, as an older layout or another engine has them
	} {
		if _, err := store.Events(t.Context(), dibs.EventQuery{After: dibs.Cursor(cursor), Limit: 1}); !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("after %q: %v, want ErrBadCursor", cursor, err)
		}
	}
}
