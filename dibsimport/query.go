package dibsimport

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Query returns a source of the rows of a query. Order the query, so that each run decides alike.
// The caller closes the source.
func Query(ctx context.Context, db *sql.DB, query string) (*Rows, error) {
	rows, err := db.QueryContext(ctx, query) //nolint:rowserrcheck // Next checks it
	if err != nil {
		return nil, err
	}
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	r := &Rows{rows: rows, columns: columns, values: make([]any, len(columns))}
	for i := range r.values {
		r.targets = append(r.targets, &r.values[i])
	}
	return r, nil
}

// Rows is the result of a query as a source.
type Rows struct {
	rows    *sql.Rows
	columns []string
	values  []any
	targets []any // pointers to values
	count   int
}

// Columns returns the columns of the query.
func (r *Rows) Columns() []string { return r.columns }

// Close ends the query.
func (r *Rows) Close() error { return r.rows.Close() }

// Next returns the next row.
func (r *Rows) Next() (Record, error) {
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return Record{}, fmt.Errorf("after row %d: %w", r.count, err)
		}
		return Record{}, io.EOF
	}
	r.count++
	record := Record{Where: "row " + strconv.Itoa(r.count), Fields: make(map[string]string, len(r.columns))}
	if err := r.rows.Scan(r.targets...); err != nil {
		return Record{}, fmt.Errorf("%s: %w", record.Where, err)
	}
	for i, value := range r.values {
		text, err := textOf(value)
		if err == nil {
			err = checkText(text)
		}
		if err != nil {
			return Record{}, fmt.Errorf("%s, column %s: %w", record.Where, r.columns[i], err)
		}
		if text != "" {
			record.Fields[r.columns[i]] = text
		}
	}
	return record, nil
}

// textOf returns a value of a database as text; NULL is empty.
func textOf(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), nil
	case [16]byte: // a UUID
		return fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:]), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case bool, int64, int32, int16, uint64:
		return fmt.Sprint(v), nil
	default:
		return "", fmt.Errorf("a value of type %T is no text: cast it in the query", value)
	}
}
