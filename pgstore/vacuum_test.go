package pgstore_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/pgstore"
)

// A vacuum that gives back the end of a table locks it for a moment, against readers, too. They wait for it longer than for
// a record that another transaction has locked.
func TestReadsWaitForAVacuum(t *testing.T) {
	t.Parallel()
	const lockWait = 10 * time.Millisecond
	r := newRig(t).open(pgstore.Config{LockWait: lockWait, Timeout: time.Minute})
	view, err := r.store.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = view.Close() })
	reads := []func() error{
		func() error {
			_, err := r.store.Load(t.Context(), []dibs.Ref{{Kind: dibs.KindName, ID: dibs.NameID("slug", "a")}})
			return err
		},
		func() error {
			for _, err := range view.Records(t.Context(), snapshot.Names) {
				return err
			}
			return nil
		},
	}
	vacuum := r.holding("LOCK TABLE " + r.table("dibs_names") + " IN ACCESS EXCLUSIVE MODE")
	done := make(chan error, len(reads))
	for _, read := range reads {
		go func() { done <- read() }()
	}
	r.await("both reads wait", func() bool { return r.waiting() == len(reads) })
	select {
	case err := <-done:
		t.Fatalf("a read has not waited: %v", err)
	case <-time.After(10 * lockWait):
	}
	r.end(vacuum)
	for range reads {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
