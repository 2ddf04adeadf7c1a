package verify

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/calldibs/dibs"
)

// identities are what the IDs of documents are hashes of: a word, NUL and the label. Kinds that are
// not listed belong to the server.
var identities = map[dibs.Kind]string{
	dibs.KindNamespace: "floor", dibs.KindQuota: "quota", dibs.KindHash: "hash", dibs.KindTally: "tally", dibs.KindActivity: "activity",
}

// ofEveryPart reports whether a record may be in any part of a registry: those of the server have no
// scope, and each part has its own.
func ofEveryPart(record dibs.Record) bool {
	ref := record.Ref()
	_, known := identities[ref.Kind]
	return ref.Scope == "" && ref.Kind != dibs.KindName && ref.Kind != dibs.KindEntity && (!known || ref.Kind == dibs.KindTally || ref.Kind == dibs.KindActivity)
}

// document checks a document by itself, and says what it says about names.
func (c *checker) document(d *dibs.Document) {
	c.checkDocumentID(d)
	switch d.Kind {
	case dibs.KindNamespace:
		c.namespaceRecord(d)
	case dibs.KindSkeleton:
		c.index(d, dibs.LinkSkeleton)
	case dibs.KindHash:
		c.index(d, dibs.LinkHash)
	case dibs.KindQuota:
		c.quota(d)
	default: // says nothing about names
	}
}

func (c *checker) checkDocumentID(d *dibs.Document) {
	if word, ok := identities[d.Kind]; ok {
		if id := hashOf(word + "\x00" + d.Label); d.ID != id {
			c.find(documentID, c.about(d, "the document has the id of another one: it is not found").differs(d.ID, id))
		}
	}
	if d.Kind == dibs.KindSkeleton && !strings.HasSuffix(d.Label, ":"+d.ID.String()) {
		c.find(documentID, c.about(d, "the document has the label of another one").differs(d.Label, "a label that ends with "+d.ID.String()))
	}
}

// decode reads the content of a document.
func (c *checker) decode(d *dibs.Document, content any) bool {
	err := json.Unmarshal(d.Data, content)
	if err != nil {
		c.find(documentData, c.about(d, fmt.Sprintf("the document cannot be read: %v", err)))
	}
	return err == nil
}

func (c *checker) namespaceRecord(d *dibs.Document) {
	var content struct {
		Epoch uint64 `json:"epoch"` // the highest of purged names
		Rules string `json:"rules"`
		Next  string `json:"next"`
	}
	c.fact.begin(namespaceSubject(d.Label), tagRecord)
	c.fact.text(d.Label)
	c.emit()
	if c.decode(d, &content) {
		c.checkRules(d, content.Rules, content.Next)
	}
	c.lacksEvents = c.lacksEvents || content.Epoch > 0
}

// index says which names an index entry lists.
func (c *checker) index(d *dibs.Document, kind dibs.LinkKind) {
	var content struct {
		Names []dibs.ID `json:"names"`
	}
	if !c.decode(d, &content) {
		return
	}
	l := listing{kind, d.ID, d.Label}
	for _, name := range content.Names {
		l.encode(&c.fact, name)
		c.emit()
	}
}

// quota says which holds a quota counts. One that is over may still be listed: the next hold of the
// principal removes it.
func (c *checker) quota(d *dibs.Document) {
	var content struct {
		Holds []struct {
			ID    dibs.ID      `json:"id"`
			Until dibs.Instant `json:"until"`
		} `json:"holds"`
	}
	if !c.decode(d, &content) {
		return
	}
	for _, hold := range content.Holds {
		if hold.Until != 0 && hold.Until <= c.soon {
			continue
		}
		c.fact.begin(subject{aboutName, hold.ID}, tagQuota)
		c.fact.text(d.Label)
		c.fact.instant(hold.Until)
		c.emit()
	}
}

// entity checks an entity's record by itself, and says which names it lists as active. A record
// without a type and an id is what is left of a forgotten one.
func (c *checker) entity(e *dibs.EntityRecord) {
	forgotten := e.Entity.IsZero()
	if id := dibs.EntityID(e.Scope, e.Entity); !forgotten && e.ID != id {
		c.find(entityID, c.about(e, "the record has the id of another entity").differs(e.ID, id))
	}
	for _, rule := range []struct {
		broken  bool
		problem string
	}{
		{e.Archived && e.Deleted, "the entity is archived and deleted at once"},
		{e.Due != 0 && !e.Deleted, "the entity is due to be deleted, but was not deleted"},
		{forgotten && e.Due == 0, "what is left of a forgotten entity is never removed"},
		{forgotten && len(e.Active) > 0, "a forgotten entity has active names"},
		{e.Deleted && e.Due == 0 && len(e.Active) > 0, "a deleted entity has active names"},
		{e.Rev == 0, "the record has no revision"},
	} {
		if rule.broken {
			c.find(entityState, c.about(e, rule.problem))
		}
	}
	row := entityRow{e.Entity, e.Scope, e.Rev, e.Archived, e.Deleted, e.Due}
	row.encode(&c.fact, e.ID)
	c.emit()
	for slot, name := range e.Active {
		c.fact.begin(subject{aboutName, name}, tagSlot)
		c.fact.id(e.ID)
		c.fact.text(slot)
		c.fact.text(entityText(e.Scope, e.Entity))
		c.emit()
	}
}
