package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// comparison compares the facts about one subject, in the order of their tags.
type comparison interface {
	take(c *checker, tag byte, d *decoder)
	end(c *checker)
}

// compare compares all facts.
func (c *checker) compare() error {
	c.seen = 0
	var about subject
	var current comparison
	for fact, err := range c.facts.Sorted() {
		if err != nil {
			return err
		}
		next, tag, d := decodeSubject(fact)
		if current == nil || next != about {
			if current != nil {
				current.end(c)
			}
			about, current = next, newComparison(next)
		}
		if current.take(c, tag, &d); d.bad {
			return errDamagedFile
		}
		if err := c.step(Comparing, c.added); err != nil {
			return err
		}
	}
	if current != nil {
		current.end(c)
	}
	return c.failed
}

func newComparison(about subject) comparison {
	switch about.kind {
	case aboutName:
		return &comparedName{id: about.id}
	case aboutEntity:
		return &comparedEntity{id: about.id}
	default:
		return new(comparedSpace)
	}
}

// comparedName is a name, with what others say about it.
type comparedName struct {
	id       dibs.ID
	row      *nameRow
	listed   []listing
	quotas   []quotaEntry
	slots    []slotEntry
	compared bool
	history  history
}

type quotaEntry struct {
	label string
	until dibs.Instant
}

type slotEntry struct {
	entity dibs.ID
	slot   string
	owner  string // the entity, for people
}

func (n *comparedName) take(c *checker, tag byte, d *decoder) {
	switch tag {
	case tagRow:
		n.row = d.nameRow()
	case tagTwin:
		n.twin(c, d.id(), d.text())
	case tagListed:
		n.listed = append(n.listed, d.listing())
	case tagQuota:
		n.quotas = append(n.quotas, quotaEntry{d.text(), d.instant()})
	case tagSlot:
		n.slots = append(n.slots, slotEntry{d.id(), d.text(), d.text()})
	case tagEvent: // the last tag: a history may be long, and is not kept
		n.compareRecords(c)
		n.history.next(c, n, d.eventFact())
	}
}

func (n *comparedName) end(c *checker) {
	n.compareRecords(c)
	n.history.end(c, n)
}

// finding returns a finding about the name.
func (n *comparedName) finding(format string, args ...any) Finding {
	f := Finding{Record: n.id.String(), Problem: fmt.Sprintf(format, args...)}
	named := n.history.label
	if n.row != nil {
		named = n.row.label
	}
	f.Namespace, f.Name = named.namespace, shownLabel(named.canonical)
	return f
}

// twin tells of another row that has the key of this one.
func (n *comparedName) twin(c *checker, other dibs.ID, owner string) {
	if n.row == nil {
		return // the other row has a wrong ID, which was told
	}
	f := n.finding("the row %s has the same name", other)
	mine := string(n.row.now.State)
	if !n.row.now.Entity.IsZero() {
		mine += ", of " + n.row.now.Entity.String()
	}
	f.Found = fmt.Sprintf("this row is %s; the other is %s", mine, owner)
	c.find(twoRows, f)
}

// compareRecords compares the row with other records, once.
func (n *comparedName) compareRecords(c *checker) {
	if n.compared {
		return
	}
	n.compared = true
	n.compareIndexes(c)
	n.compareQuota(c)
	n.compareSlots(c)
}

func (n *comparedName) compareIndexes(c *checker) {
	hashed := n.row == nil || !n.row.byHash
	for _, l := range n.listed {
		namespace, _, _ := strings.Cut(l.label, ":")
		switch {
		case n.row == nil:
			f := Finding{Record: indexName(l.kind) + " " + l.label, Problem: fmt.Sprintf("the index leads to %s, which has no row", n.id)}
			c.find(indexEntry, f)
		case namespace != n.row.namespace:
			c.find(indexEntry, n.finding("the index of another namespace leads to the name").differs(namespace, n.row.namespace))
		}
		hashed = hashed || (l.kind == dibs.LinkHash && hashOf(l.label) == n.id)
	}
	if !hashed {
		c.find(nameID, n.finding("the id is not that of any hash of the name: it is not found"))
	}
	if n.row == nil || !n.row.taken {
		return
	}
	links, err := dibs.DecodeLinks(n.row.links)
	if err != nil {
		c.failed = cmp.Or(c.failed, err)
		return
	}
	for _, link := range links {
		check, ok := indexChecks[link.Kind]
		if ok && !slices.ContainsFunc(n.listed, func(l listing) bool { return l.kind == link.Kind && l.entry == link.ID }) {
			f := n.finding("the %s index does not list the name: another entity can get it, or one that looks like it", indexName(link.Kind))
			f.Expected = "the entry " + link.ID.String() + " lists it"
			c.find(check, f)
		}
	}
}

var indexChecks = map[dibs.LinkKind]*Check{dibs.LinkSkeleton: lookAlikes, dibs.LinkHash: blindKeys}

func indexName(kind dibs.LinkKind) string {
	if kind == dibs.LinkHash {
		return string(dibs.KindHash)
	}
	return string(dibs.KindSkeleton)
}

func (n *comparedName) compareQuota(c *checker) {
	counted := false
	for _, q := range n.quotas {
		switch {
		case n.row != nil && q.label == n.row.quota && q.until == n.row.counted:
			counted = true
		case n.row != nil && q.label == n.row.quota:
			c.find(quotaHolds, n.finding("the quota has another end of the hold").differs(q.until, n.row.counted))
			counted = true
		case n.row == nil:
			c.find(quotaHolds, Finding{Record: "quota " + q.label, Problem: fmt.Sprintf("the quota counts a hold on %s, which has no row", n.id)})
		default:
			f := n.finding("the quota %s counts a hold that it should not", q.label)
			f.Found = string(n.row.now.State)
			c.find(quotaHolds, f)
		}
	}
	if n.row != nil && n.row.quota != "" && !counted {
		f := n.finding("the quota of its principal does not count the hold")
		f.Expected = "the quota " + n.row.quota + " lists it until " + n.row.counted.String()
		c.find(quotaHolds, f)
	}
}

func (n *comparedName) compareSlots(c *checker) {
	listed := false
	for _, s := range n.slots {
		switch {
		case n.row == nil:
			c.find(activeSlot, Finding{Entity: s.owner, Record: n.id.String(), Problem: "the entity lists an active name that has no row, in " + s.slot})
		case n.row.slot == s.slot && n.row.owner == s.entity:
			listed = true
		default:
			f := n.finding("%s lists the name as its active one in %s", s.owner, s.slot)
			f.Found = string(n.row.now.State)
			if !n.row.now.Entity.IsZero() {
				f.Found += ", of " + n.row.now.Entity.String()
			}
			f.Expected = "active, of " + s.owner
			c.find(activeSlot, f)
		}
	}
	if n.row != nil && n.row.slot != "" && !listed {
		f := n.finding("its owner does not list it as active: the owner could get a second name, or a rename would leave this one behind")
		f.Entity, f.Expected = n.row.now.Entity.String(), "listed in "+n.row.slot
		c.find(activeSlot, f)
	}
}

// comparedSpace is a namespace, with what rows say about it.
type comparedSpace struct {
	namespace string
	record    bool
	used      bool
	counts    map[dibs.State][2]uint64 // the engine's, and the rows
}

func (s *comparedSpace) take(_ *checker, tag byte, d *decoder) {
	s.namespace = d.text()
	switch tag {
	case tagRecord:
		s.record = true
	case tagUsed:
		s.used = true
	case tagCount, tagRows:
		if s.counts == nil {
			s.counts = make(map[dibs.State][2]uint64)
		}
		state := dibs.State(d.text())
		counts := s.counts[state]
		counts[tag-tagCount] += d.number()
		s.counts[state] = counts
	}
}

func (s *comparedSpace) end(c *checker) {
	if s.used && !s.record {
		c.find(hasRecord, Finding{Namespace: s.namespace, Problem: "the namespace has names, but no record: epochs could go back when names are purged"})
	}
	for state, counts := range s.counts {
		if c.counted && counts[0] != counts[1] {
			f := Finding{Namespace: s.namespace, Problem: fmt.Sprintf("the engine counts another number of %s names", state)}
			c.find(countsRight, f.differs(counts[0], counts[1]))
		}
	}
}
