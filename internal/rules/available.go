package rules

import "github.com/calldibs/dibs"

// taken says why entity, or anyone if it is zero, cannot have the name now.
func (s *target) taken(d *nameState, entity dibs.Entity) *dibs.Error {
	refuse := func(reason dibs.Reason, until dibs.Instant, format string, args ...any) *dibs.Error {
		err := s.refuse(dibs.CodeNameTaken, "%s "+format, append([]any{s.key()}, args...)...)
		err.Reason, err.Until = reason, until.Time()
		return err
	}
	switch d.State {
	case dibs.Held:
		return refuse(dibs.ReasonHeld, d.ExpiresAt, "is already reserved, until %s", d.ExpiresAt)
	case dibs.Suspect:
		return refuse(dibs.ReasonSuspect, 0, "is already reserved, and it is being found out whether it is in use")
	case dibs.Active, dibs.Alias:
		return refuse(dibs.ReasonInUse, 0, "is in use")
	case dibs.Quarantined:
		if entity != d.Owner || entity.IsZero() { // of a forgotten one nobody knows the owner
			return refuse(dibs.ReasonQuarantined, d.Until, "was given up and is kept back until %s", d.Until)
		}
	case dibs.Free:
	}
	return nil
}

// available says why entity, or anyone if it is zero, cannot have the name now:
// somebody has it, or has one that looks like it.
func (v *view) available(s *target, d *nameState, entity dibs.Entity) *dibs.Error {
	if err := s.taken(d, entity); err != nil {
		return err
	}
	for _, f := range s.skeletons {
		if v.imitates(f, d, entity) {
			return s.confusable("%s looks like a name that is taken; if that is the same entity's, name the entity", s.key())
		}
	}
	return nil
}

// mayGo refuses a name to another entity while one that looks like it stays behind.
func (v *view) mayGo(s *target, d *nameState, to dibs.Entity) *dibs.Error {
	for _, l := range d.Links {
		if f, ok := indexKeyOf(l, d); ok && f.link == dibs.LinkSkeleton && v.imitates(f, d, to) {
			return s.confusable("%s looks like another name, which would not be %s's: decommission that one first", s.key(), to)
		}
	}
	return nil
}

// confusable makes the refusal of a look-alike. It does not say of what: whoever asks
// need not know who has which names.
func (s *target) confusable(format string, args ...any) *dibs.Error {
	err := s.refuse(dibs.CodeNameTaken, format, args...)
	err.Reason = dibs.ReasonConfusable
	return err
}

// imitates reports whether a name in the same folder is not entity's.
func (v *view) imitates(f indexKey, d *nameState, entity dibs.Entity) bool {
	names, _ := v.indexed(f)
	for _, id := range names {
		if id == d.ID {
			continue
		}
		if other := v.nameByID(id, d.Scope); other != nil && other.keepsOut(entity) {
			return true
		}
	}
	return false
}

// keepsOut reports whether the name is, or may become, another entity's.
func (d *nameState) keepsOut(entity dibs.Entity) bool {
	switch d.State {
	case dibs.Free:
		return false
	case dibs.Held, dibs.Suspect:
		return d.Intended.IsZero() || d.Intended != entity
	default:
		return d.Owner != entity || entity.IsZero()
	}
}
