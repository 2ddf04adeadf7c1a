package verify

import (
	"errors"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
)

// checkFile lets the engine check its own file. It comes first: a file may be so damaged that it cannot be
// read to the end.
func (c *checker) checkFile(moment Moment) error {
	checker, ok := moment.(FileChecker)
	if !ok {
		return nil
	}
	if c.Progress != nil {
		c.Progress(Progress{Phase: CheckingFile})
	}
	wrong, err := checker.CheckFile(c.ctx)
	for _, problem := range wrong {
		c.find(soundFile, Finding{Record: "the file", Problem: problem})
	}
	return errors.Join(err, c.failed)
}

// damage reports the damage of one record or event. What can be read of it takes part in all other checks:
// they say what differs. An error of any other kind is returned.
func (c *checker) damage(err error, about func(row string) Finding) error {
	damage, ok := errors.AsType[*snapshot.DamageError](err)
	if !ok {
		return err
	}
	f := about(damage.Row)
	f.Problem = damage.Row + " is not as it was written"
	c.find(soundRecord, f)
	return nil
}

// aboutDamaged names a record by what it says, if that can be told to be right: its ID is a hash of it.
func (c *checker) aboutDamaged(record dibs.Record, row string) Finding {
	if record == nil {
		return Finding{Record: row}
	}
	f := c.about(record, "")
	if !isItself(record) {
		return Finding{Record: row, Found: f.Where()}
	}
	return f
}

// isItself reports whether a record has the ID of what it says it is.
func isItself(record dibs.Record) bool {
	switch r := record.(type) {
	case *dibs.NameRecord:
		return r.ID == dibs.NameID(r.Namespace, r.Canonical)
	case *dibs.EntityRecord:
		return r.ID == dibs.EntityID(r.Scope, r.Entity)
	case *dibs.Document:
		word, hashed := identities[r.Kind]
		return hashed && r.ID == hashOf(word+"\x00"+r.Label) || r.Kind == dibs.KindSkeleton && strings.HasSuffix(r.Label, ":"+r.ID.String())
	}
	return false
}

// aboutEvent names an event by its cursor, and by its name if that can be told.
func aboutEvent(e *dibs.Event) Finding {
	f := Finding{Record: "event " + string(e.Cursor)}
	if e.ID == dibs.NameID(e.Namespace, e.Canonical) {
		f.Namespace, f.Name = e.Namespace, shownLabel(e.Canonical)
	}
	return f
}
