package sqlitestore

import (
	"errors"
	"testing"

	"github.com/calldibs/dibs"
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
	body := encodeBody(&e, true, 7)
	for name, change := range map[string]func(e *dibs.Event, seq *int64, body []byte){
		"kind": func(e *dibs.Event, _ *int64, _ []byte) { e.Kind = dibs.EventExtended },
		"time": func(e *dibs.Event, _ *int64, _ []byte) { e.At++ },
		"rev":  func(e *dibs.Event, _ *int64, _ []byte) { e.Rev++ },
		"name": func(e *dibs.Event, _ *int64, _ []byte) { e.ID[15]++ },
		"seq":  func(_ *dibs.Event, seq *int64, _ []byte) { *seq++ },
		"body": func(_ *dibs.Event, _ *int64, body []byte) { body[len(body)-1]++ },
	} {
		other, seq, damaged := e, int64(7), append([]byte{}, body...)
		change(&other, &seq, damaged)
		if _, err := unseal(damaged, &other, seq); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := unseal(body, &e, 7); err != nil {
		t.Error(err)
	}
	if rest, err := unseal(body[sealSize:], &e, 7); err != nil || len(rest) != len(body)-sealSize {
		t.Errorf("an event without a seal: %v", err)
	}
}
