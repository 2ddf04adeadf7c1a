package rules

import "github.com/calldibs/dibs"

// checkAvailable refuses a name that the entity cannot have now: the name or a look-alike of it is
// taken. A zero entity stands for a caller that names none.
func (v *view) checkAvailable(t *target, n *nameState, entity dibs.Entity) *dibs.Error {
	if err := t.refuseTaken(n, entity); err != nil {
		return err
	}
	for _, key := range t.skeletons {
		if v.hasLookAlike(key, n, entity) {
			return t.refuseConfusable("%s looks like a taken name; if both belong to one entity, name the entity", t.key())
		}
	}
	return nil
}

// refuseTaken refuses a name that is taken. Only its last owner can have a quarantined one.
func (t *target) refuseTaken(n *nameState, entity dibs.Entity) *dibs.Error {
	refuse := func(reason dibs.Reason, until dibs.Instant, format string, args ...any) *dibs.Error {
		err := t.refuse(dibs.CodeNameTaken, "%s "+format, append([]any{t.key()}, args...)...)
		err.Reason, err.Until = reason, until.Time()
		return err
	}
	switch n.State {
	case dibs.Held:
		return refuse(dibs.ReasonHeld, n.ExpiresAt, "is already reserved, until %s", n.ExpiresAt)
	case dibs.Suspect:
		return refuse(dibs.ReasonSuspect, 0, "is already reserved, and its witness is asked whether it is in use")
	case dibs.Active, dibs.Alias:
		return refuse(dibs.ReasonInUse, 0, "is in use")
	case dibs.Quarantined:
		if entity != n.Owner || entity.IsZero() { // a tombstone has no owner
			return refuse(dibs.ReasonQuarantined, n.Until, "was given up and is in quarantine until %s", n.Until)
		}
	case dibs.Free:
	}
	return nil
}

// hasLookAlike reports whether another name under the index key keeps the entity out.
func (v *view) hasLookAlike(key indexKey, n *nameState, entity dibs.Entity) bool {
	names, _ := v.readIndex(key)
	for _, id := range names {
		if id == n.ID {
			continue
		}
		if other := v.nameByID(id, n.Scope); other != nil && other.keepsOut(entity) {
			return true
		}
	}
	return false
}

// keepsOut reports whether the name belongs to another entity, or may come to.
func (n *nameState) keepsOut(entity dibs.Entity) bool {
	switch n.State {
	case dibs.Free:
		return false
	case dibs.Held, dibs.Suspect:
		return n.Intended.IsZero() || n.Intended != entity
	default:
		return n.Owner != entity || entity.IsZero()
	}
}

// refuseConfusable makes the refusal of a look-alike. Its message must not contain the other name:
// the caller may have no right to see it.
func (t *target) refuseConfusable(format string, args ...any) *dibs.Error {
	err := t.refuse(dibs.CodeNameTaken, format, args...)
	err.Reason = dibs.ReasonConfusable
	return err
}

// mayHandOver refuses to give an entity a name that looks like a name of another entity.
func (v *view) mayHandOver(t *target, n *nameState, to dibs.Entity) *dibs.Error {
	for _, l := range n.Links {
		if key, ok := indexKeyOf(l, n); ok && key.link == dibs.LinkSkeleton && v.hasLookAlike(key, n, to) {
			return t.refuseConfusable("%s looks like another name, which does not belong to %s: decommission that one first", t.key(), to)
		}
	}
	return nil
}
