package sqlitestore

import (
	"context"

	"github.com/calldibs/dibs"
)

// A name's row has the canonical form for its events, if there is one.
var redactEvent = newStatement(`UPDATE dibs_events SET body = CASE WHEN name IS NULL THEN ?1 ELSE ?2 END WHERE seq = ?3`)

// redact lets events that were told before say less.
func (c *changes) redact(ctx context.Context, run runner) error {
	for _, e := range c.redacts {
		seq, err := parseCursor(e.Cursor)
		if err != nil {
			return err
		}
		whole, err := e.EncodeBody()
		if err != nil {
			return err
		}
		body, err := bodyBesideName(*e)
		if err != nil {
			return err
		}
		if err := run.exec(ctx, redactEvent, string(whole), string(body), seq); err != nil {
			return err
		}
	}
	return nil
}

// bodyBesideName is the body of an event whose name has a row.
func bodyBesideName(e dibs.Event) ([]byte, error) {
	withoutCanonical(&e)
	return e.EncodeBody()
}
