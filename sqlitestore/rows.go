package sqlitestore

import (
	"database/sql/driver"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// row is a row to write, with what only rows of names have: a number, and the last event.
type row struct {
	sqlrow.Row
	columns           []sqlrow.Column // that are written
	id                dibs.ID
	sum               int64
	number, lastEvent int64
	isNew             bool // it has no row yet
}

// isNewHold reports whether the row is new and its rare columns are empty.
func (r row) isNewHold() bool {
	return r.isNew && !slices.ContainsFunc(rareColumns, func(c sqlrow.Column) bool { return argument(&c, r.Row) != nil })
}

// appendTo appends the values of columns, after those that only names have and before the sum. The
// last event is added to the sum, since it may change alone.
func (r row) appendTo(args []any) []any {
	args = slices.Grow(args, len(r.columns)+3)
	if r.number != 0 {
		args = append(args, r.number, intOrNull(r.lastEvent))
	}
	for i := range r.columns {
		args = append(args, argument(&r.columns[i], r.Row))
	}
	return append(args, r.sum+r.lastEvent)
}

// argument returns the value of a column.
func argument(c *sqlrow.Column, row sqlrow.Row) any {
	switch p := c.At(row).(type) {
	case *string:
		if *p != "" || !c.OrNull {
			return *p
		}
	case *int64:
		if *p != 0 || !c.OrNull {
			return *p
		}
	case *uint64:
		return int64(*p)
	case *int:
		return intOrNull(int64(*p))
	case *bool:
		if *p {
			return int64(1)
		}
		return int64(0)
	case *dibs.ID:
		if !p.IsZero() {
			return p[:]
		}
	case *[]byte:
		if len(*p) > 0 {
			return *p
		}
	}
	return nil
}

// scan reads a row of a SELECT of all columns and the sum. If the sum is wrong, it returns what the
// row says with the error.
func (t *table) scan(values []driver.Value) (dibs.Record, error) {
	row := t.New()
	for i := range t.Columns {
		switch p, v := t.Columns[i].At(row), values[i]; p := p.(type) {
		case *string:
			*p = asText(v)
		case *int64:
			*p = asInt(v)
		case *uint64:
			*p = uint64(asInt(v))
		case *int:
			*p = int(asInt(v))
		case *bool:
			*p = asInt(v) == 1
		case *dibs.ID:
			copy(p[:], asBytes(v))
		case *[]byte:
			*p = asBytes(v)
		}
	}
	record, err := row.Record()
	if sum := values[len(t.Columns)]; sum != nil && sum != t.sum(row) || sum == nil && !t.mayHave(values) {
		if err != nil {
			return nil, damaged("a row of %s", t.Name)
		}
		return record, damaged("%s %s", record.Ref().Kind, record.Ref().ID)
	}
	return record, err
}

// mayHave reports whether a row without a sum, from before there were any, has a value in each column that the column
// can have. A damaged page may lead to rows of another table.
func (t *table) mayHave(values []driver.Value) bool {
	row := t.New()
	for i := range t.Columns {
		column := &t.Columns[i]
		isNull := values[i] == nil
		_, isText := values[i].(string)
		number, isNumber := values[i].(int64)
		bytes, isBytes := values[i].([]byte)
		may := false
		switch column.At(row).(type) {
		case *string:
			may = isText || isNull && column.OrNull
		case *int64:
			may = isNumber || isNull && column.OrNull
		case *uint64:
			may = isNumber
		case *int:
			may = isNumber || isNull
		case *bool:
			may = isNumber && number>>1 == 0
		case *dibs.ID:
			may = isBytes && len(bytes) == len(dibs.ID{}) || isNull
		case *[]byte:
			may = isBytes || isNull
		}
		if !may {
			return false
		}
	}
	return true
}

func intOrNull(i int64) any {
	if i == 0 {
		return nil
	}
	return i
}

func asText(v driver.Value) string {
	s, _ := v.(string)
	return s
}

func asInt(v driver.Value) int64 {
	i, _ := v.(int64)
	return i
}

func asBytes(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}

// asVersion reads ID and revision of a row. A damaged revision must not look as if there were no row: its name would be
// given away.
func asVersion(id, rev driver.Value) (dibs.ID, uint64, error) {
	of, err := asID(id)
	if n := asInt(rev); err != nil || n >= 1 {
		return of, uint64(n), err
	}
	return of, 0, damaged("the revision of record %s", of)
}

// asID reads the ID of a row. Its length is not known: the file may be damaged.
func asID(v driver.Value) (id dibs.ID, err error) {
	data := asBytes(v)
	if len(data) != len(id) {
		return id, damaged("an ID of %d bytes", len(data))
	}
	return dibs.ID(data), nil
}
