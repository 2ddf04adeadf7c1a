package pgstore

import "github.com/calldibs/dibs"

// addRedacts takes in events that are to say less.
func (c *changes) addRedacts(events []dibs.Event) error {
	for i := range events {
		at, err := parseCursor(events[i].Cursor)
		if err != nil {
			return err
		}
		row, err := newEventRow(&events[i], int(at.ord))
		if err != nil {
			return err
		}
		row.seq = at.seq
		c.redacts = append(c.redacts, row)
	}
	return nil
}

func redactCall(sql *statements, rows []*eventRow) call {
	return call{text: sql.feed.redact, args: []any{
		values(rows, func(e *eventRow) *int64 { return &e.seq }),
		values(rows, func(e *eventRow) *int64 { return &e.ord }),
		values(rows, func(e *eventRow) *string { return &e.body }),
	}}
}
