package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// name checks a name's row by itself, and says what it is to others.
func (c *checker) name(n *dibs.NameRecord) {
	s := c.space(n.Namespace)
	c.checkNameID(n, s)
	c.checkState(n)
	if due := dueOf(n); n.Due != due {
		c.find(dueDate, c.about(n, "the row is due at another time than its state ends").differs(n.Due, due))
	}
	c.checkSpent(n)
	if isTombstone(n) {
		c.checkTombstone(n)
	} else {
		c.checkCanonical(n, s)
	}
	c.checkMoved(n)
	c.emitRow(n, s)
	c.use(n.Namespace)
	if n.State != dibs.Free {
		c.count(dibs.NameCount{Namespace: n.Namespace, State: n.State})
	}
}

// tombstoneMark begins the canonical form of a forgotten name.
const tombstoneMark = "\x7f"

func isTombstone(n *dibs.NameRecord) bool { return strings.HasPrefix(n.Canonical, tombstoneMark) }

// checkNameID checks that a row is where its name is looked up. In a blind namespace the ID may be
// that of another hash of the name, which shows when the indexes are compared.
func (c *checker) checkNameID(n *dibs.NameRecord, s *space) {
	id := dibs.NameID(n.Namespace, n.Canonical)
	switch {
	case n.ID == id, s.blind && !isTombstone(n):
	case isTombstone(n) && n.Canonical == tombstoneMark+n.ID.String():
	default:
		c.find(nameID, c.about(n, "the row has the id of another name: it is not found by its own").differs(n.ID, id))
		c.fact.begin(subject{aboutName, id}, tagTwin)
		c.fact.id(n.ID)
		c.fact.text(ownerText(n))
		c.emit()
	}
	if scope := dibs.ScopeOf(n.Namespace); n.Scope != scope {
		c.find(nameID, c.about(n, "the row has the scope of another namespace").differs(quoted(n.Scope), quoted(scope)))
	}
}

// statuses are the statuses that a state can have.
var statuses = map[dibs.State][]dibs.Status{
	dibs.Held:        {dibs.StatusReserved},
	dibs.Suspect:     {dibs.StatusSuspect},
	dibs.Active:      {dibs.StatusConfirmed},
	dibs.Alias:       {dibs.StatusConfirmed},
	dibs.Quarantined: {dibs.StatusReleased, dibs.StatusExpired},
	dibs.Free:        {dibs.StatusReleased, dibs.StatusExpired},
}

// checkState checks that the fields of a row fit its state.
func (c *checker) checkState(n *dibs.NameRecord) {
	wrong := func(format string, args ...any) {
		f := c.about(n, fmt.Sprintf(format, args...))
		f.Found = fmt.Sprintf("%s, %s", n.State, n.Status)
		c.find(nameState, f)
	}
	if allowed, known := statuses[n.State]; !known {
		wrong("there is no state %q", n.State)
		return
	} else if !slices.Contains(allowed, n.Status) {
		wrong("a name in the state %s cannot have the status %q", n.State, n.Status)
	}
	if n.Epoch == 0 || n.Rev == 0 {
		wrong("epoch %d and revision %d begin at 1", n.Epoch, n.Rev)
	}
	owned := n.State == dibs.Active || n.State == dibs.Alias
	over := n.State == dibs.Free || n.State == dibs.Quarantined
	for _, rule := range []struct {
		broken  bool
		problem string
	}{
		{n.State == dibs.Held && n.ExpiresAt == 0, "a hold has no end"},
		{(n.State == dibs.Held || n.State == dibs.Suspect) && n.Token.IsZero(), "a hold has no token"},
		{n.State == dibs.Suspect && n.AskAt == 0, "a suspect is never asked about"},
		{n.State == dibs.Quarantined && n.Until == 0, "a quarantine has no end"},
		{n.State == dibs.Active && n.Until != 0, "an active name has an end"},
		{n.State == dibs.Free && n.Until != 0, "a free name is kept until a date"},
		{owned && n.Owner.IsZero(), "it has no owner"},
		{owned && n.ConfirmedAt == 0, "it was never confirmed"},
		{owned && n.EndedAt != 0, "it was given up"},
		{owned && !n.Established, "it would be purged as if it had never been confirmed"},
		{over && n.EndedAt == 0, "it did not end"},
	} {
		if rule.broken {
			wrong("%s", rule.problem)
		}
	}
}

// endOf returns when the state of a name ends by itself, or zero.
func endOf(n *dibs.NameRecord) dibs.Instant {
	switch n.State {
	case dibs.Held:
		return n.ExpiresAt
	case dibs.Alias, dibs.Quarantined:
		return n.Until
	default:
		return 0
	}
}

// dueOf returns when a sweep has to visit the name.
func dueOf(n *dibs.NameRecord) dibs.Instant {
	switch {
	case n.State == dibs.Suspect:
		return n.AskAt
	case n.State == dibs.Free && !n.Established:
		return n.EndedAt.Add(n.Terms.HoldHistory)
	default:
		return endOf(n)
	}
}

// isTakenAt reports whether a name is not free at an instant, whether or not its ends are recorded.
func isTakenAt(n *dibs.NameRecord, at dibs.Instant) bool {
	switch n.State {
	case dibs.Suspect, dibs.Active:
		return true
	case dibs.Held:
		return n.ExpiresAt > at || n.Terms.Witnessed || n.Until > at
	case dibs.Alias:
		return n.Until == 0 || n.Until.Add(n.Terms.Quarantine) > at
	case dibs.Quarantined:
		return n.Until > at
	default:
		return false
	}
}

// snapshotOf returns what the last event of a name must have.
func snapshotOf(n *dibs.NameRecord) dibs.Snapshot {
	entity := n.Owner
	if n.State == dibs.Held || n.State == dibs.Suspect {
		entity = n.Intended
	}
	return dibs.Snapshot{State: n.State, Status: n.Status, Epoch: n.Epoch, Entity: entity, Until: endOf(n)}
}

// maxSpent is how many tokens of earlier holds a name remembers.
const maxSpent = 16

func (c *checker) checkSpent(n *dibs.NameRecord) {
	if len(n.Spent) > maxSpent {
		c.find(spentTokens, c.about(n, "the row has too many tokens of earlier holds").differs(len(n.Spent), maxSpent))
	}
	for _, spent := range n.Spent {
		if spent.Epoch >= n.Epoch {
			c.find(spentTokens, c.about(n, "a token of an earlier hold has a later epoch").differs(spent.Epoch, fmt.Sprintf("below %d", n.Epoch)))
			return
		}
	}
}

func (c *checker) checkTombstone(n *dibs.NameRecord) {
	left := []string{}
	for _, part := range []struct {
		what  string
		there bool
	}{
		{"a value", n.Value != n.Canonical},
		{"an owner", !n.Owner.IsZero() || !n.Intended.IsZero()},
		{"a token", !n.Token.IsZero() || len(n.Spent) > 0},
		{"a principal", n.Principal != ""},
		{"details", n.CorrelationID != "" || len(n.Meta) > 0 || n.Doubt != ""},
		{"a state of use", n.State != dibs.Free && n.State != dibs.Quarantined},
	} {
		if part.there {
			left = append(left, part.what)
		}
	}
	if len(left) > 0 {
		c.find(tombstone, c.about(n, "the row of a forgotten name still has "+strings.Join(left, ", ")))
	}
}

// checkMoved checks a row from which its name was moved.
func (c *checker) checkMoved(n *dibs.NameRecord) {
	if n.State == dibs.Free {
		return
	}
	for _, l := range n.Links {
		if l.Kind == dibs.LinkMovedTo {
			f := c.about(n, "the name was moved to another row, and this one is still in use")
			c.find(movedRow, f.differs(n.State, dibs.Free))
		}
	}
}

// emitRow says what the row is to its history, its owner, its indexes and its quota.
func (c *checker) emitRow(n *dibs.NameRecord, s *space) {
	row := nameRow{
		label: label{n.Namespace, n.Canonical}, value: n.Value, rev: n.Rev, now: snapshotOf(n),
		byHash: s.blind && !isTombstone(n) && n.ID != dibs.NameID(n.Namespace, n.Canonical),
		taken:  isTakenAt(n, c.soon), links: dibs.EncodeLinks(n.Links),
	}
	if n.State == dibs.Active {
		row.slot, row.owner = slotOf(n), dibs.EntityID(n.Scope, n.Owner)
	}
	if live := n.State == dibs.Suspect || n.Terms.Witnessed || n.ExpiresAt > c.soon; live && n.Terms.Counted &&
		(n.State == dibs.Held || n.State == dibs.Suspect) {
		row.quota = n.Namespace + "/" + n.Principal
		if !n.Terms.Witnessed {
			row.counted = n.ExpiresAt
		}
	}
	row.encode(&c.fact, n.ID)
	c.emit()
	if n.State == dibs.Active || n.State == dibs.Alias {
		owned := ownedName{label: row.label, state: n.State, many: n.Terms.Many, entity: n.Owner, scope: n.Scope}
		owned.encode(&c.fact, dibs.EntityID(n.Scope, n.Owner))
		c.emit()
	}
}

// slotOf returns the key of an active name in the record of its entity.
func slotOf(n *dibs.NameRecord) string {
	if n.Terms.Many {
		return n.Namespace + "/" + n.Line.String()
	}
	return n.Namespace
}

// ownerText says who has a name, for people.
func ownerText(n *dibs.NameRecord) string {
	if entity := snapshotOf(n).Entity; !entity.IsZero() {
		return fmt.Sprintf("%s, of %s", n.State, entity)
	}
	return string(n.State)
}

// shownLabel returns a canonical form as findings show it.
func shownLabel(canonical string) string {
	if id, forgotten := strings.CutPrefix(canonical, tombstoneMark); forgotten {
		return "(forgotten) " + id
	}
	return canonical
}

// entityText returns an entity with its scope.
func entityText(scope string, entity dibs.Entity) string {
	text := entity.String()
	if entity.IsZero() {
		text = "(forgotten)"
	}
	if scope != "" {
		text += " in " + scope
	}
	return text
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }
