//go:build unix

package etcdstore_test

import (
	"errors"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/etcdtest"
)

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
