package sqlitestore

import (
	"database/sql/driver"
	"errors"
	"path/filepath"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// Every column counts, and so does the place of each letter.
func TestSumsDiffer(t *testing.T) {
	t.Parallel()
	for _, table := range []*table{names, entities, documents} {
		seen := map[int64]string{table.sum(table.New()): "empty"}
		for i := range table.Columns {
			row := table.New()
			column := table.Columns[i]
			switch p := column.At(row).(type) {
			case *string:
				*p = "text"
			case *int64:
				*p = 7
			case *uint64:
				*p = 7
			case *int:
				*p = 7
			case *bool:
				*p = true
			case *dibs.ID:
				p[3] = 7
			case *[]byte:
				*p = []byte("bytes")
			}
			sum := table.sum(row)
			if other, ok := seen[sum]; ok {
				t.Errorf("%s: %s has the sum of %s", table.Name, column.Name, other)
			}
			seen[sum] = column.Name
		}
	}
}

func TestSumOfTexts(t *testing.T) {
	t.Parallel()
	seen := make(map[uint32]string)
	text := []byte("a text that is longer than two words of the sum")
	for i := range text {
		for bit := range 8 {
			text[i] ^= 1 << bit
			sum := addText(startOfSum, text).end()
			if other, ok := seen[sum]; ok {
				t.Errorf("%q has the sum of %q", text, other)
			}
			seen[sum] = string(text)
			text[i] ^= 1 << bit
		}
	}
	for _, pair := range [][2]string{{"", "\x00"}, {"ab", "a"}, {"12345678", "12345678\x00"}} {
		if addText(startOfSum, pair[0]) == addText(startOfSum, pair[1]) {
			t.Errorf("%q and %q have the same sum", pair[0], pair[1])
		}
	}
}

// A sum needs no allocation.
func TestSumsAllocateNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, pools lose what they have")
	}
	row, err := sqlrow.NewRow(activeName("a", dibs.Entity{Type: "user", ID: "1"}))
	if err != nil {
		t.Fatal(err)
	}
	if allocs := testing.AllocsPerRun(100, func() { names.sum(row) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func BenchmarkSum(b *testing.B) {
	row, err := sqlrow.NewRow(activeName("a", dibs.Entity{Type: "user", ID: "1"}))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		names.sum(row)
	}
}

// A seal is about everything in the event's row.
func TestSeals(t *testing.T) {
	t.Parallel()
	e := eventOf(dibs.EventReserved, heldName("a"))
	body := encodeBody(&e, true, 7, 3)
	for name, change := range map[string]func(e *dibs.Event, seq, prev *int64, body []byte){
		"kind":      func(e *dibs.Event, _, _ *int64, _ []byte) { e.Kind = dibs.EventExtended },
		"time":      func(e *dibs.Event, _, _ *int64, _ []byte) { e.At++ },
		"rev":       func(e *dibs.Event, _, _ *int64, _ []byte) { e.Rev++ },
		"name":      func(e *dibs.Event, _, _ *int64, _ []byte) { e.ID[15]++ },
		"namespace": func(e *dibs.Event, _, _ *int64, _ []byte) { e.Namespace += "s" },
		"seq":       func(_ *dibs.Event, seq, _ *int64, _ []byte) { *seq++ },
		"prev":      func(_ *dibs.Event, _, prev *int64, _ []byte) { *prev = 0 },
		"body":      func(_ *dibs.Event, _, _ *int64, body []byte) { body[len(body)-1]++ },
	} {
		for _, known := range []int64{3, unknown} {
			other, seq, prev, damaged := e, int64(7), int64(3), encodeBody(&e, true, 7, known)
			change(&other, &seq, &prev, damaged)
			_, err := unseal(damaged, &other, seq, prev)
			if partly := known == unknown && (name == "namespace" || name == "prev"); errors.Is(err, ErrDamaged) == partly {
				t.Errorf("%s, with the previous event %d: got %v", name, known, err)
			}
		}
	}
	if _, err := unseal(body, &e, 7, 3); err != nil {
		t.Error(err)
	}
	if rest, err := unseal(body[sealSize:], &e, 7, 3); err != nil || len(rest) != len(body)-sealSize {
		t.Errorf("an event without a seal: %v", err)
	}
}

// TestDamagedNamesOfEvents damages what the row of a name lends to its events: neither feed nor history
// nor a snapshot has it.
func TestDamagedNamesOfEvents(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{"canonical = 'b'", "namespace = 'other'", "canonical = 'b', sum = sum + 1"} {
		path := filepath.Join(t.TempDir(), "names.db")
		s := openTest(t, path, Config{})
		n := heldName("a")
		mustCommit(t, s, dibs.Group{Writes: insertGroup(n).Writes, Events: []dibs.Event{eventOf(dibs.EventReserved, n)}})
		if err := runSQL(t, path, "UPDATE dibs_names SET "+damage); err != nil {
			t.Fatal(err)
		}
		for _, query := range []dibs.EventQuery{{Limit: 10}, {Name: n.ID, Limit: 10}} {
			if events, err := s.Events(t.Context(), query); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: got %v, %v", damage, events, err)
			}
		}
		view, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range view.Events(t.Context(), "") {
			if _, ok := errors.AsType[*snapshot.DamageError](err); !ok {
				t.Errorf("%s: the snapshot has %v, %v", damage, e, err)
			}
		}
		if err := view.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDamagedIDs damages IDs, which are no part of what has a sum when they are read alone: the sweeper and a
// commit name the damage, and do not panic.
func TestDamagedIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"x''", "x'00'", "zeroblob(17)"} {
		path := filepath.Join(t.TempDir(), "names.db")
		s := openTest(t, path, Config{})
		n := heldName("a")
		n.Due = testNow
		mustCommit(t, s, insertGroup(n))
		if err := runSQL(t, path, "PRAGMA ignore_check_constraints = ON; UPDATE dibs_names SET id = "+id); err != nil {
			t.Fatal(err)
		}
		if refs, err := s.Due(t.Context(), 10); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: due are %v, %v", id, refs, err)
		}
	}
	for _, v := range []driver.Value{nil, "text of 16 bytes", []byte{1}, make([]byte, 17)} {
		if id, err := asID(v); !errors.Is(err, ErrDamaged) {
			t.Errorf("%v is %v, %v", v, id, err)
		}
	}
}
