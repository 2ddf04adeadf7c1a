package sqlitestore

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// changed returns a name as a later commit writes it, with its event.
func changed(n *dibs.NameRecord) dibs.Group {
	next := *n
	next.Rev++
	n.Rev = next.Rev
	return dibs.Group{
		Reads: []dibs.Read{{Ref: next.Ref(), Rev: next.Rev - 1}}, Writes: []dibs.Write{{Record: &next, Was: next.State}},
		Events: []dibs.Event{eventOf(dibs.EventExtended, &next)},
	}
}

// damageBySQL changes a file behind the back of a store, also what its schema does not allow.
func damageBySQL(t *testing.T, path, script string) {
	t.Helper()
	if err := runSQL(t, path, "PRAGMA ignore_check_constraints = ON; "+script); err != nil {
		t.Fatal(err)
	}
}

// A row whose revision is damaged does not count as absent: a commit that expects no row must not replace it.
func TestDamagedRevisions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	s := openTest(t, path, Config{})
	n := heldName("a")
	entity := &dibs.EntityRecord{ID: dibs.EntityID("", dibs.Entity{Type: "user", ID: "1"}), Rev: 1, Entity: dibs.Entity{Type: "user", ID: "1"}}
	mustCommit(t, s, insertGroup(n), dibs.Group{Reads: []dibs.Read{{Ref: entity.Ref()}}, Writes: []dibs.Write{{Record: entity}}})
	damageBySQL(t, path, "UPDATE dibs_names SET rev = 0; UPDATE dibs_entities SET rev = -1")
	for _, g := range []dibs.Group{insertGroup(n), {Reads: []dibs.Read{{Ref: entity.Ref()}}, Writes: []dibs.Write{{Record: entity}}}} {
		if outcomes, err := s.Commit(t.Context(), []dibs.Group{g}); !errors.Is(err, ErrDamaged) {
			t.Errorf("got %v, %v", outcomes, err)
		}
	}
	for _, rev := range []driver.Value{nil, "1", []byte{1}, 1.0, int64(0), int64(-1)} {
		if _, n, err := asVersion(make([]byte, 16), rev); !errors.Is(err, ErrDamaged) {
			t.Errorf("%v is %d, %v", rev, n, err)
		}
	}
}

// A name whose id an index has lost cannot be written a second time, and the error says why.
func TestLostName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	s, err := Open(t.Context(), path, Config{Now: testClock})
	if err != nil {
		t.Fatal(err)
	}
	n := heldName("a")
	mustCommit(t, s, insertGroup(n))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path, Config{})
	const page, indexLeaf = 2048, 0x0a
	flips := 0
	for at := 0; at < len(file); at += page {
		if i := bytes.Index(file[at:at+page], n.ID[:]); i >= 0 && file[at] == indexLeaf {
			file[at+i] ^= 1
			flips++
		}
	}
	if err := os.WriteFile(path, file, 0o600); err != nil || flips != 1 {
		t.Fatal(flips, err)
	}
	_, err = s.Commit(t.Context(), []dibs.Group{insertGroup(n)})
	if e, ok := errors.AsType[*dibs.Error](err); !ok || e.Cause != dibs.CauseDamaged {
		t.Errorf("got %v", err)
	}
}

// A link of a history that was damaged is named, and leads no purge to the events of other names.
func TestDamagedLinks(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"one is left out":  "UPDATE dibs_events SET prev = 2 WHERE seq = 5",
		"of another name":  "UPDATE dibs_events SET prev = 1 WHERE seq = 5",
		"the first is not": "UPDATE dibs_events SET prev = 1 WHERE seq = 2",
		"leads nowhere":    "UPDATE dibs_events SET prev = -7 WHERE seq = 5",
		"ends":             "UPDATE dibs_events SET prev = NULL WHERE seq = 5",
		"a circle":         "UPDATE dibs_events SET prev = 5 WHERE seq = 5",
		"lost":             "DELETE FROM dibs_events WHERE seq = 4",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "names.db")
			s := openTest(t, path, Config{})
			other, n := heldName("other"), heldName("a")
			mustCommit(t, s, insertGroup(other))
			mustCommit(t, s, insertGroup(n))
			mustCommit(t, s, changed(other)) // events 1 and 3
			mustCommit(t, s, changed(n))
			mustCommit(t, s, changed(n)) // events 2, 4 and 5
			damageBySQL(t, path, damage)
			if events, err := s.Events(t.Context(), dibs.EventQuery{Name: n.ID, Limit: 10}); !errors.Is(err, ErrDamaged) {
				t.Errorf("the history is %v, %v", events, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			outcomes, err := s.Commit(ctx, []dibs.Group{{Reads: []dibs.Read{{Ref: n.Ref(), Rev: n.Rev}}, Writes: []dibs.Write{{Record: n, Delete: true, Was: n.State}}}})
			if err != nil || outcomes[0] != dibs.Committed {
				t.Fatal(outcomes, err)
			}
			if events, err := s.Events(t.Context(), dibs.EventQuery{Name: other.ID, Limit: 10}); err != nil || len(events) != 2 {
				t.Errorf("the history of the other name is %v, %v", events, err)
			}
		})
	}
}

// The body of an event must be one, and so must its type in the row.
func TestDamagedBodies(t *testing.T) {
	t.Parallel()
	e := eventOf(dibs.EventReserved, heldName("a"))
	body := encodeBody(&e, true, 7, 3)
	for at := range body {
		for bit := range 8 {
			damagedBody := bytes.Clone(body)
			damagedBody[at] ^= 1 << bit
			got := dibs.Event{Kind: e.Kind, At: e.At, ID: e.ID, Namespace: e.Namespace, Canonical: e.Canonical, Rev: e.Rev}
			if err := decodeBody(&got, damagedBody, 7, 3); !errors.Is(err, ErrDamaged) {
				t.Errorf("bit %d of byte %d: got %+v, %v", bit, at, got, err)
			}
		}
	}
	row := []driver.Value{int64(7), string(e.Kind), int64(e.At), e.ID[:], e.Namespace, int64(1), string(body), e.Canonical, int64(1), int64(3), nil}
	if got, err := scanEvent(t.Context(), nil, row); !errors.Is(err, ErrDamaged) {
		t.Errorf("a text is %+v, %v", got, err)
	}
}

// Documents that the engine itself reads are checked as all others are.
func TestDamagedDocumentsOfTheEngine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	s := openTest(t, path, Config{})
	mustCommit(t, s, insertGroup(heldName("a")))
	start := &dibs.Document{Kind: snapshot.StartRef.Kind, ID: snapshot.StartRef.ID, Rev: 1, Label: "start", Data: []byte("1000")}
	mustCommit(t, s, dibs.Group{Reads: []dibs.Read{{Ref: start.Ref()}}, Writes: []dibs.Write{{Record: start}}})
	for range 2 { // also if it is raised again
		if err := s.Fence(t.Context(), "elsewhere"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Commit(t.Context(), []dibs.Group{insertGroup(heldName("b"))}); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if found := mustLoad(t, s, record.FenceRef); len(found) != 1 || found[0].Revision() != 2 {
		t.Errorf("the fence is %v", found)
	}
	if err := s.Unfence(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Fence(t.Context(), "elsewhere"); err != nil {
		t.Fatal(err)
	}
	dropped := dropFence + "UPDATE dibs_documents SET data = CAST('1' AS BLOB) WHERE kind = '" + string(start.Kind) + "';" +
		"UPDATE dibs_documents SET data = CAST('a stranger' AS BLOB) WHERE kind = '" + string(record.FenceRef.Kind) + "';" + raiseFence
	damageBySQL(t, path, dropped)
	if _, err := s.Commit(t.Context(), []dibs.Group{insertGroup(heldName("b"))}); !errors.Is(err, ErrDamaged) {
		t.Errorf("a commit behind a damaged fence: %v", err)
	}
	if _, err := s.Events(t.Context(), dibs.EventQuery{After: "1", Limit: 1}); !errors.Is(err, ErrDamaged) {
		t.Errorf("a cursor with a damaged start: %v", err)
	}
}

// A row without a sum, from before there were any, must at least be one of its table.
func TestRowsWithoutSums(t *testing.T) {
	t.Parallel()
	n := activeName("a", dibs.Entity{Type: "user", ID: "1"})
	data, err := sqlrow.NewRow(n)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]driver.Value, len(names.Columns)+1)
	for i := range names.Columns {
		values[i] = argument(&names.Columns[i], data)
	}
	if _, err := names.scan(values); err != nil {
		t.Error(err)
	}
	for i := range names.Columns {
		odd := append([]driver.Value{}, values...)
		odd[i] = 1.5
		if r, err := names.scan(odd); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, %v", names.Columns[i].Name, r, err)
		}
	}
	short := append([]driver.Value{}, values...)
	clear(short[9:])
	if r, err := names.scan(short); !errors.Is(err, ErrDamaged) {
		t.Errorf("a row with nine columns is %v, %v", r, err)
	}
	values[len(values)-1] = "7"
	if r, err := names.scan(values); !errors.Is(err, ErrDamaged) {
		t.Errorf("a row with a text as sum is %v, %v", r, err)
	}
}
