package dibs

// taken says why entity, or anyone if it is zero, cannot have the name now.
func (s *subject) taken(d *draft, entity Entity) *Error {
	refuse := func(reason Reason, until Instant, format string, args ...any) *Error {
		err := s.refuse(CodeNameTaken, "%s "+format, append([]any{s.key()}, args...)...)
		err.Reason, err.Until = reason, until.Time()
		return err
	}
	switch d.State {
	case Held:
		return refuse(ReasonHeld, d.ExpiresAt, "is already reserved, until %s", d.ExpiresAt)
	case Suspect:
		return refuse(ReasonSuspect, 0, "is already reserved, and it is being found out whether it is in use")
	case Active, Alias:
		return refuse(ReasonInUse, 0, "is in use")
	case Quarantined:
		if entity != d.Owner || entity.IsZero() { // of a forgotten one nobody knows the owner
			return refuse(ReasonQuarantined, d.Until, "was given up and is kept back until %s", d.Until)
		}
	case Free:
	}
	return nil
}

// available says why entity, or anyone if it is zero, cannot have the name now:
// somebody has it, or has one that looks like it.
func (v *view) available(s *subject, d *draft, entity Entity) *Error {
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
func (v *view) mayGo(s *subject, d *draft, to Entity) *Error {
	for _, l := range d.Links {
		if f, ok := folderOf(l, d); ok && f.link == LinkSkeleton && v.imitates(f, d, to) {
			return s.confusable("%s looks like another name, which would not be %s's: decommission that one first", s.key(), to)
		}
	}
	return nil
}

// confusable makes the refusal of a look-alike. It does not say of what: whoever asks
// need not know who has which names.
func (s *subject) confusable(format string, args ...any) *Error {
	err := s.refuse(CodeNameTaken, format, args...)
	err.Reason = ReasonConfusable
	return err
}

// imitates reports whether a name in the same folder is not entity's.
func (v *view) imitates(f folder, d *draft, entity Entity) bool {
	names, _ := v.filed(f)
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
func (d *draft) keepsOut(entity Entity) bool {
	switch d.State {
	case Free:
		return false
	case Held, Suspect:
		return d.Intended.IsZero() || d.Intended != entity
	default:
		return d.Owner != entity || entity.IsZero()
	}
}
