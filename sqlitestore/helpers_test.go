package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

const testNow = dibs.Instant(1_800_000_000_000)

func testClock() time.Time { return testNow.Time() }

func openTest(tb testing.TB, path string, cfg Config) *Store {
	tb.Helper()
	if cfg.Now == nil {
		cfg.Now = testClock
	}
	s, err := Open(context.Background(), path, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func newTest(tb testing.TB) *Store {
	return openTest(tb, filepath.Join(tb.TempDir(), "names.db"), Config{})
}

// heldName is a typical first reservation.
func heldName(canonical string) *dibs.NameRecord {
	return &dibs.NameRecord{
		ID: dibs.NameID("acme.slug", canonical), Rev: 1, Namespace: "acme.slug", Scope: "acme",
		Value: canonical, Canonical: canonical, Profile: "slug/1",
		State: dibs.Held, Status: dibs.StatusReserved, Epoch: 1, CreatedAt: testNow,
		Token: dibs.TokenHash(append(make([]byte, 16), []byte("0123456789abcdef")...)), Principal: "key_checkout",
		ExpiresAt: testNow.Add(15 * time.Minute),
		Terms:     dibs.Terms{Quarantine: 30 * 24 * time.Hour, HoldHistory: 30 * 24 * time.Hour},
		Due:       testNow.Add(15 * time.Minute),
	}
}

// activeName is a name that an entity owns.
func activeName(canonical string, owner dibs.Entity) *dibs.NameRecord {
	n := heldName(canonical)
	n.State, n.Status = dibs.Active, dibs.StatusConfirmed
	n.Owner, n.ConfirmedAt, n.ExpiresAt, n.Due, n.Established = owner, testNow, 0, 0, true
	return n
}

func eventOf(kind dibs.EventKind, n *dibs.NameRecord) dibs.Event {
	return dibs.Event{
		Kind: kind, At: testNow, ID: n.ID, Namespace: n.Namespace, Canonical: n.Canonical, Value: n.Value,
		Rev: n.Rev, Epoch: n.Epoch, Scope: n.Scope, Entity: n.Owner, Actor: n.Principal,
		After: dibs.Snapshot{State: n.State, Status: n.Status, Epoch: n.Epoch, Entity: n.Owner, Until: n.ExpiresAt},
	}
}

// insertGroup writes a new name and its first event.
func insertGroup(n *dibs.NameRecord) dibs.Group {
	return dibs.Group{
		Reads:  []dibs.Read{{Ref: n.Ref()}},
		Writes: []dibs.Write{{Record: n, Was: dibs.Free}},
		Events: []dibs.Event{eventOf(dibs.EventReserved, n)},
	}
}

func mustCommit(tb testing.TB, s dibs.Store, groups ...dibs.Group) {
	tb.Helper()
	outcomes, err := s.Commit(context.Background(), groups)
	if err != nil {
		tb.Fatal(err)
	}
	for i, outcome := range outcomes {
		if outcome != dibs.Committed {
			tb.Fatalf("group %d is stale", i)
		}
	}
}

func mustLoad(tb testing.TB, s dibs.Store, refs ...dibs.Ref) []dibs.Record {
	tb.Helper()
	got, err := s.Load(context.Background(), refs)
	if err != nil {
		tb.Fatal(err)
	}
	return got.Records
}

func numbered(i int) string { return fmt.Sprintf("name-%08d", i*7919%100_000_000) }

// pragma returns the result of a pragma on a connection that reads.
func pragma(tb testing.TB, s *Store, name string) driver.Value {
	tb.Helper()
	var row []driver.Value
	err := s.read(context.Background(), func(run runner) (err error) {
		row, err = readRow(context.Background(), run, newStatement("PRAGMA "+name))
		return err
	})
	if err != nil || len(row) == 0 {
		tb.Fatalf("PRAGMA %s: %v, %v", name, row, err)
	}
	return row[0]
}
