//go:build unix

package etcdstore_test

import (
	"context"
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/verify"
)

// TestVerify checks that a sound store has no findings, and that damages of a record and of a listing
// are found.
func TestVerify(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Shared(t)
	prefix := cluster.Prefix()
	store := open(t, etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: prefix, Timeout: patience})
	registry, err := core.Open(store, dibs.Config{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	ann, ctx := dibs.Entity{Type: "user", ID: "ann"}, t.Context()
	for _, command := range []dibs.Command{
		dibs.Claim{Namespace: "slug", Value: "old-ann", Entity: ann},
		dibs.Rename{Namespace: "slug", Value: "ann", Entity: ann},
		dibs.Archive{Entity: ann},
		dibs.Reserve{Namespace: "slug", Value: "held"},
	} {
		if _, err := registry.Apply(ctx, command); err != nil {
			t.Fatal(err)
		}
	}
	checkFindings(t, store)

	ref := dibs.Ref{Kind: dibs.KindEntity, ID: dibs.EntityID("", ann)}
	loaded, err := store.Load(ctx, []dibs.Ref{ref})
	if err != nil || len(loaded.Records) != 1 {
		t.Fatal(loaded, err)
	}
	damaged := *loaded.Records[0].(*dibs.EntityRecord)
	read := dibs.Read{Ref: ref, Rev: damaged.Rev}
	damaged.Rev, damaged.Active, damaged.Archived = damaged.Rev+1, nil, false
	group := dibs.Group{Reads: []dibs.Read{read}, Writes: []dibs.Write{{Record: &damaged}}}
	if outcomes, err := store.Commit(ctx, []dibs.Group{group}); err != nil || outcomes[0] != dibs.Committed {
		t.Fatal(outcomes, err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: cluster.Endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if gone, err := client.Delete(ctx, prefix+"sheld", clientv3.WithPrefix()); err != nil || gone.Deleted != 1 {
		t.Fatal("the listing of held names: ", gone, err)
	}
	checkFindings(t, store, "active slug:ann", "counts slug", "entity-replay user/ann")
}

// checkFindings compares the findings in a store with those that are wanted.
func checkFindings(t *testing.T, store dibs.Store, want ...string) {
	t.Helper()
	view, err := snapshot.Take(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	var found []string
	_, err = verify.Store(context.Background(), view, verify.Options{Found: func(f verify.Finding) error {
		found = append(found, f.Check+" "+f.Where())
		return nil
	}})
	if slices.Sort(found); err != nil || !slices.Equal(found, want) {
		t.Errorf("found %q, %v; want %q", found, err, want)
	}
}
