package pgstore

import (
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// row is a row of dibs_names, dibs_entities or dibs_documents.
type row struct {
	kind     dibs.Kind
	id       uuid
	data     sqlrow.Row // nil if the row is removed, or only read
	expected int64      // its revision when it was read
	stamp    int64      // of names and entities
	renews   bool       // it replaces a row with the same key

	// The last event of a name, and the fields that have no column.
	lastBatch uuid
	lastOrd   int64
	detail    string
}

var (
	expected = newColumn("expected", arrays, func(r *row) any { return &r.expected })
	stamp    = newColumn("stamp", 0, func(r *row) any { return &r.stamp })

	names = newTable(sqlrow.Names, stamp,
		newColumn("last_batch", orNull, func(r *row) any { return &r.lastBatch }),
		newColumn("last_ord", 0, func(r *row) any { return &r.lastOrd }),
		newColumn("detail", 0, func(r *row) any { return &r.detail }))
	entities  = newTable(sqlrow.Entities, stamp)
	documents = newTable(sqlrow.Documents)
)

// newTable returns a table with further columns, which only this engine has.
func newTable(t *sqlrow.Table, further ...column[row]) table[row] {
	columns := further
	name := t.Name
	if t == sqlrow.Names {
		name = "dibs_name_rows"
	}
	for _, c := range t.Columns {
		if t == sqlrow.Names && isDetail(c.Name) {
			continue
		}
		col := column[row]{name: c.Name, typ: typeOf(pointer(c.At(t.New())))}
		col.at = func(r *row) any { return pointer(c.At(r.data)) }
		switch {
		case slices.Contains(t.Key, c.Name):
			col.option = arrays
			col.at = func(r *row) any {
				switch {
				case r.data != nil:
					return pointer(c.At(r.data))
				case c.Name == "kind":
					return (*string)(&r.kind)
				}
				return &r.id
			}
		case c.OrNull:
			col.option = orNull
		}
		columns = append(columns, col)
	}
	return table[row]{name: name, columns: columns, key: t.Key, fixed: t.Fixed, empty: t.New}
}

// expecting is a table with its key, the columns that can change, and the expected revisions.
func expecting(t table[row]) table[row] {
	t.columns = slices.DeleteFunc(slices.Clone(t.columns), func(c column[row]) bool {
		return slices.Contains(t.fixed, c.name) && !slices.Contains(t.key, c.name)
	})
	t.columns = append(t.columns, expected)
	return t
}

// keysOnly is a table with its key alone.
func keysOnly(t table[row]) table[row] {
	t.columns = slices.DeleteFunc(slices.Clone(t.columns), func(c column[row]) bool { return !slices.Contains(t.key, c.name) })
	return t
}

// expectingKeys is a table with its key and the expected revisions.
func expectingKeys(t table[row]) table[row] {
	t = keysOnly(t)
	t.columns = append(t.columns, expected)
	return t
}

// pointer makes a pointer to an ID one that pgx knows.
func pointer(p any) any {
	if id, ok := p.(*dibs.ID); ok {
		return (*uuid)(id)
	}
	return p
}

func newRow(r dibs.Record, stamp, expected int64) (*row, error) {
	ref := r.Ref()
	data, err := sqlrow.NewRow(r)
	created := &row{kind: ref.Kind, id: uuid(ref.ID), data: data, expected: expected, stamp: stamp, lastOrd: -1}
	if name, ok := data.(*sqlrow.Name); ok {
		created.detail = encodeDetail(name)
	}
	return created, err
}

// newKey returns a row that has only its key.
func newKey(ref dibs.Ref, expected int64) *row {
	return &row{kind: ref.Kind, id: uuid(ref.ID), expected: expected}
}

// placeholder returns a row of revision 0, which no record has, that is in no index which could
// refuse it.
func (r *row) placeholder() *row {
	var empty dibs.Record
	switch r := r.data.(type) {
	case *sqlrow.Name:
		empty = &dibs.NameRecord{
			ID: r.ID, Namespace: r.Namespace, Canonical: r.Canonical, Value: r.Canonical, Epoch: r.Epoch,
			State: dibs.Free, Status: dibs.StatusReleased,
		}
	case *sqlrow.Entity:
		empty = &dibs.EntityRecord{ID: r.ID, Scope: r.Scope, Entity: r.Entity}
	case *sqlrow.Document:
		empty = &dibs.Document{Kind: r.Kind, ID: r.ID, Scope: r.Scope, Label: r.Label}
	}
	row, _ := newRow(empty, 0, 0) // it has no map to encode
	return row
}

// scanRecord reads a row of a SELECT of all columns.
func scanRecord(t table[row], from scanner) (dibs.Record, error) {
	r := row{data: t.empty()}
	if err := from.Scan(t.dests(nil, &r)...); err != nil {
		return nil, err
	}
	return r.record()
}

// record returns the record of a row that was read.
func (r *row) record() (dibs.Record, error) {
	if name, ok := r.data.(*sqlrow.Name); ok {
		if err := decodeDetail(r.detail, name); err != nil {
			return nil, err
		}
	}
	return r.data.Record()
}

// uuid is an ID as PostgreSQL stores it: 16 bytes that compare and hash fast. pgx reads and
// writes it natively, database/sql uses Scan.
type uuid [16]byte

var (
	_ pgtype.UUIDScanner = (*uuid)(nil)
	_ pgtype.UUIDValuer  = uuid{}
)

// ScanUUID implements [pgtype.UUIDScanner].
func (u *uuid) ScanUUID(v pgtype.UUID) error {
	*u = v.Bytes
	return nil
}

// UUIDValue implements [pgtype.UUIDValuer].
func (u uuid) UUIDValue() (pgtype.UUID, error) {
	return pgtype.UUID{Bytes: u, Valid: true}, nil
}

// Scan implements [sql.Scanner].
func (u *uuid) Scan(src any) error {
	var v pgtype.UUID
	if err := v.Scan(src); err != nil {
		return fmt.Errorf("not a uuid: %w", err)
	}
	*u = v.Bytes
	return nil
}
