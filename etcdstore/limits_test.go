//go:build unix

package etcdstore_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// With default settings a cluster allows 128 operations in a transaction.
func TestServersWithDefaultLimits(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, etcdtest.Options{Members: 1})
	store := open(t, etcdstore.Config{Endpoints: cluster.Endpoints(), Timeout: patience})

	t.Run("many groups", func(t *testing.T) {
		var groups []dibs.Group
		for i := range 500 {
			groups = append(groups, newName(fmt.Sprint("many ", i), "a"))
		}
		for i, outcome := range commit(t, store, groups...) {
			if outcome != dibs.Committed {
				t.Fatalf("group %d is %v", i, outcome)
			}
		}
	})
	t.Run("a group that is too large", func(t *testing.T) {
		var large dibs.Group
		for i := range 60 {
			g := newName(fmt.Sprint("large ", i), "a")
			large.Reads, large.Writes = append(large.Reads, g.Reads...), append(large.Writes, g.Writes...)
			large.Events = append(large.Events, g.Events...)
		}
		got := commit(t, store, newName("before", "a"), large, newName("behind", "a"))
		if got[0] != dibs.Committed || got[1] != dibs.TooLarge || got[2] != dibs.Committed {
			t.Errorf("outcomes %v", got)
		}
	})
	t.Run("too many bytes", func(t *testing.T) {
		d := &dibs.Document{Kind: "storetest", ID: dibs.ID{1}, Rev: 1, Label: "large", Data: make([]byte, 2<<20)}
		got := commit(t, store, dibs.Group{Reads: []dibs.Read{{Ref: d.Ref()}}, Writes: []dibs.Write{{Record: d}}})
		if got[0] != dibs.TooLarge {
			t.Errorf("outcome %v, want too large", got[0])
		}
	})
	t.Run("a load of many", func(t *testing.T) {
		var refs []dibs.Ref
		for i := range 500 {
			refs = append(refs, newName(fmt.Sprint("many ", i), "a").Reads[0].Ref)
		}
		found, err := store.Load(t.Context(), refs)
		if err != nil || len(found.Records) != len(refs) {
			t.Errorf("%d of %d records, %v", len(found.Records), len(refs), err)
		}
	})
	t.Run("a name with a long history", func(t *testing.T) { longHistory(t, store) })
	t.Run("commands that share a record", func(t *testing.T) {
		sharedRecord(t, register(t, etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: "shared/", Timeout: patience},
			dibs.Config{Policies: map[string]dibs.Policy{"slug": {MaxHolds: 1000}}}))
	})
}

// longHistory deletes a name with more events than a transaction may have operations.
func longHistory(t *testing.T, store dibs.Store) {
	t.Helper()
	first := newName("long", "a")
	commit(t, store, first)
	before := events(t, store)
	n := *first.Writes[0].Record.(*dibs.NameRecord)
	for range 200 {
		g := newName("long", "a")
		n.Rev++
		written := n
		g.Reads[0].Rev, g.Writes[0].Record, g.Events[0].Rev = n.Rev-1, &written, n.Rev
		if commit(t, store, g)[0] != dibs.Committed {
			t.Fatal("a change is not committed")
		}
	}
	gone := dibs.Group{Reads: []dibs.Read{{Ref: n.Ref(), Rev: n.Rev}}, Writes: []dibs.Write{{Record: &n, Delete: true}}}
	if got := commit(t, store, gone); got[0] != dibs.Committed {
		t.Fatalf("outcome %v", got[0])
	}
	if after := events(t, store); after != before-1 {
		t.Errorf("%d events, want %d", after, before-1)
	}
}

// sharedRecord makes many callers with one quota reserve names, and checks the limit of one command.
func sharedRecord(t *testing.T, reg *dibs.Registry) {
	t.Helper()
	alice := reg.As(dibs.Principal{Name: "alice"})
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if _, err := alice.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("name-", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var list []dibs.Command
	for i := range 32 {
		list = append(list, dibs.Claim{Namespace: "slug", Value: fmt.Sprint("claim-", i), Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(i)}})
	}
	_, err := reg.Apply(t.Context(), list...)
	if !errors.Is(err, dibs.ErrTooLarge) || !strings.Contains(err.Error(), "split it") {
		t.Errorf("%v, want TOO_LARGE that says what to do", err)
	}
	if _, err := reg.Apply(t.Context(), list[:20]...); err != nil {
		t.Error(err)
	}
}

// A full database refuses writes, and can still be read. A refused write is not applied, although
// etcd gives the same answer to the last one that fits. After the steps in the error message it
// accepts writes again.
func TestDatabaseIsFull(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, etcdtest.Options{Members: 1, Quota: 4 << 20})
	cfg := quiet(cluster)
	cfg.Timeout = patience
	store := open(t, cfg)
	doc := dibs.Document{Kind: "storetest", ID: dibs.ID{1}, Label: "grows", Data: make([]byte, 256<<10)}
	change := func() error {
		written := doc
		written.Rev++
		outcomes, err := store.Commit(t.Context(), []dibs.Group{{
			Reads:  []dibs.Read{{Ref: doc.Ref(), Rev: doc.Rev}},
			Writes: []dibs.Write{{Record: &written}},
		}})
		if err != nil {
			return err
		}
		if outcomes[0] != dibs.Committed {
			t.Fatalf("outcome %v", outcomes[0])
		}
		doc.Rev++
		return nil
	}
	var err error
	for range 100 {
		if err = change(); err != nil {
			break
		}
	}
	if !errors.Is(err, dibs.ErrUnavailable) || !strings.Contains(err.Error(), "NOSPACE") || !strings.Contains(err.Error(), "alarm disarm") {
		t.Fatalf("%v, want UNAVAILABLE that names the alarm and what to do", err)
	}
	if failed, ok := errors.AsType[*dibs.Error](err); !ok || failed.Cause != dibs.CauseDiskFull {
		t.Errorf("%v, want the cause %q", err, dibs.CauseDiskFull)
	}
	found, err := store.Load(t.Context(), []dibs.Ref{doc.Ref()})
	if err != nil || len(found.Records) != 1 || found.Records[0].Revision() != doc.Rev {
		t.Fatalf("%v, %v: the document cannot be read", found, err)
	}

	compact(t, cluster)
	if _, err := cluster.Client(t).AlarmDisarm(t.Context(), &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
	if err := change(); err != nil {
		t.Error(err)
	}
}

// compact compacts and defragments a cluster of one member.
func compact(t *testing.T, cluster *etcdtest.Cluster) {
	t.Helper()
	client := cluster.Client(t)
	now, err := client.Get(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Defragment(t.Context(), cluster.Endpoints()[0]); err != nil {
		t.Fatal(err)
	}
}

// sizeOf returns the size of the compacted database.
func sizeOf(t *testing.T, cluster *etcdtest.Cluster) int64 {
	t.Helper()
	compact(t, cluster)
	status, err := cluster.Client(t).Status(t.Context(), cluster.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	return status.DbSizeInUse
}

// A confirmed name of 13 characters, with its entity, its two events and all indexes, takes at most
// 900 bytes in the database of a member.
func TestBytesPerName(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a while")
	}
	const (
		names   = 2000
		callers = 100
		most    = 900
	)
	cluster := etcdtest.Start(t, etcdtest.Options{Members: 1, MaxTxnOps: 2048})
	cfg := quiet(cluster)
	cfg.Timeout = patience
	reg := register(t, cfg, dibs.Config{})
	before := sizeOf(t, cluster)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := caller; i < names; i += callers {
				hold, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: fmt.Sprintf("name-%08x", uint32(i)*2654435761)})
				if err == nil {
					_, err = reg.Confirm(t.Context(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(i)}})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	each := (sizeOf(t, cluster) - before) / names
	t.Logf("%d bytes a name", each)
	if each > most {
		t.Errorf("%d bytes a name, more than %d", each, most)
	}
}
