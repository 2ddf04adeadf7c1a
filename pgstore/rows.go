package pgstore

import (
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// nameRow is a row of dibs_names.
type nameRow struct {
	id, owner, line, lastBatch                                uuid
	rev, expected, lastOrd                                    int64
	epoch, stamp, createdAt, expiresAt, due                   int64
	confirmedAt, endedAt, until, askAt, asked                 int64
	quarantine, holdHistory                                   int64
	witnessed, many, counted, established                     bool
	state, status, namespace, canonical, value, profile       string
	principal, intendedType, intendedID, correlationID, doubt string
	ownerType, ownerID, meta                                  string
	token, links, spent                                       []byte
}

var names = table[nameRow]{"dibs_names", []column[nameRow]{
	always(id, "id", func(n *nameRow) *uuid { return &n.id }),
	number("rev", func(n *nameRow) *int64 { return &n.rev }),
	number("epoch", func(n *nameRow) *int64 { return &n.epoch }),
	number("stamp", func(n *nameRow) *int64 { return &n.stamp }),
	orNull(number("created_at", func(n *nameRow) *int64 { return &n.createdAt })),
	orNull(number("expires_at", func(n *nameRow) *int64 { return &n.expiresAt })),
	orNull(number("due", func(n *nameRow) *int64 { return &n.due })),
	orNull(number("quarantine_ms", func(n *nameRow) *int64 { return &n.quarantine })),
	orNull(number("hold_history_ms", func(n *nameRow) *int64 { return &n.holdHistory })),
	flag("witnessed", func(n *nameRow) *bool { return &n.witnessed }),
	flag("many", func(n *nameRow) *bool { return &n.many }),
	flag("counted", func(n *nameRow) *bool { return &n.counted }),
	flag("established", func(n *nameRow) *bool { return &n.established }),
	text("state", func(n *nameRow) *string { return &n.state }),
	text("status", func(n *nameRow) *string { return &n.status }),
	text("namespace", func(n *nameRow) *string { return &n.namespace }),
	text("canonical", func(n *nameRow) *string { return &n.canonical }),
	orNull(text("value", func(n *nameRow) *string { return &n.value })),
	orNull(text("profile", func(n *nameRow) *string { return &n.profile })),
	orNull(blob("token", func(n *nameRow) *[]byte { return &n.token })),
	orNull(text("principal", func(n *nameRow) *string { return &n.principal })),
	orNull(number("confirmed_at", func(n *nameRow) *int64 { return &n.confirmedAt })),
	orNull(number("ended_at", func(n *nameRow) *int64 { return &n.endedAt })),
	orNull(number("until", func(n *nameRow) *int64 { return &n.until })),
	orNull(number("ask_at", func(n *nameRow) *int64 { return &n.askAt })),
	orNull(number("asked", func(n *nameRow) *int64 { return &n.asked })),
	orNull(text("intended_type", func(n *nameRow) *string { return &n.intendedType })),
	orNull(text("intended_id", func(n *nameRow) *string { return &n.intendedID })),
	orNull(text("correlation_id", func(n *nameRow) *string { return &n.correlationID })),
	orNull(text("meta", func(n *nameRow) *string { return &n.meta })),
	orNull(text("doubt", func(n *nameRow) *string { return &n.doubt })),
	orNull(text("owner_type", func(n *nameRow) *string { return &n.ownerType })),
	orNull(text("owner_id", func(n *nameRow) *string { return &n.ownerID })),
	orNull(id("owner", func(n *nameRow) *uuid { return &n.owner })),
	orNull(id("line", func(n *nameRow) *uuid { return &n.line })),
	orNull(blob("links", func(n *nameRow) *[]byte { return &n.links })),
	orNull(blob("spent", func(n *nameRow) *[]byte { return &n.spent })),
	orNull(id("last_batch", func(n *nameRow) *uuid { return &n.lastBatch })),
	number("last_ord", func(n *nameRow) *int64 { return &n.lastOrd }),
}, []string{"id"}, []string{"id", "namespace", "canonical"}, always(number, "expected", func(n *nameRow) *int64 { return &n.expected })}

func newNameRow(n *dibs.NameRecord, stamp int64) (*nameRow, error) {
	r := &nameRow{
		id: uuid(n.ID), rev: int64(n.Rev), epoch: int64(n.Epoch), stamp: stamp,
		createdAt: int64(n.CreatedAt), expiresAt: int64(n.ExpiresAt), due: int64(n.Due),
		confirmedAt: int64(n.ConfirmedAt), endedAt: int64(n.EndedAt), until: int64(n.Until),
		askAt: int64(n.AskAt), asked: int64(n.Asked),
		quarantine: n.Terms.Quarantine.Milliseconds(), holdHistory: n.Terms.HoldHistory.Milliseconds(),
		witnessed: n.Terms.Witnessed, many: n.Terms.Many, counted: n.Terms.Counted, established: n.Established,
		state: string(n.State), status: string(n.Status), namespace: n.Namespace, canonical: n.Canonical,
		profile: n.Profile, principal: n.Principal,
		intendedType: n.Intended.Type, intendedID: n.Intended.ID, correlationID: n.CorrelationID, doubt: n.Doubt,
		ownerType: n.Owner.Type, ownerID: n.Owner.ID, line: uuid(n.Line), links: dibs.EncodeLinks(n.Links), spent: dibs.EncodeSpent(n.Spent), lastOrd: -1,
	}
	if n.Value != n.Canonical {
		r.value = n.Value
	}
	if !n.Token.IsZero() {
		r.token = n.Token[:]
	}
	if record.Owned(n) {
		r.owner = uuid(dibs.EntityID(n.Scope, n.Owner))
	}
	var err error
	r.meta, err = sqlrow.JSON(n.Meta)
	return r, err
}

func (r *nameRow) record() (*dibs.NameRecord, error) {
	n := &dibs.NameRecord{
		ID: dibs.ID(r.id), Rev: uint64(r.rev), Namespace: r.namespace, Scope: dibs.ScopeOf(r.namespace),
		Value: r.value, Canonical: r.canonical, Profile: r.profile,
		State: dibs.State(r.state), Status: dibs.Status(r.status),
		Epoch: uint64(r.epoch), CreatedAt: dibs.Instant(r.createdAt),
		Principal: r.principal, Intended: dibs.Entity{Type: r.intendedType, ID: r.intendedID},
		CorrelationID: r.correlationID, ExpiresAt: dibs.Instant(r.expiresAt),
		Asked: int(r.asked), AskAt: dibs.Instant(r.askAt), Doubt: r.doubt,
		Owner:       dibs.Entity{Type: r.ownerType, ID: r.ownerID},
		ConfirmedAt: dibs.Instant(r.confirmedAt), EndedAt: dibs.Instant(r.endedAt),
		Line: dibs.ID(r.line), Until: dibs.Instant(r.until),
		Terms: dibs.Terms{
			Witnessed: r.witnessed, Many: r.many, Counted: r.counted,
			Quarantine:  time.Duration(r.quarantine) * time.Millisecond,
			HoldHistory: time.Duration(r.holdHistory) * time.Millisecond,
		},
		Established: r.established, Due: dibs.Instant(r.due),
	}
	copy(n.Token[:], r.token)
	if n.Value == "" {
		n.Value = n.Canonical
	}
	return n, sqlrow.SetEncoded(n, r.meta, r.links, r.spent)
}

// entityRow is a row of dibs_entities.
type entityRow struct {
	id                           uuid
	rev, expected, stamp, due    int64
	archived, deleted            bool
	scope, typ, entityID, active string
}

var entities = table[entityRow]{"dibs_entities", []column[entityRow]{
	always(id, "id", func(e *entityRow) *uuid { return &e.id }),
	number("rev", func(e *entityRow) *int64 { return &e.rev }),
	number("stamp", func(e *entityRow) *int64 { return &e.stamp }),
	orNull(number("due", func(e *entityRow) *int64 { return &e.due })),
	flag("archived", func(e *entityRow) *bool { return &e.archived }),
	flag("deleted", func(e *entityRow) *bool { return &e.deleted }),
	orNull(text("scope", func(e *entityRow) *string { return &e.scope })),
	text("type", func(e *entityRow) *string { return &e.typ }),
	text("entity_id", func(e *entityRow) *string { return &e.entityID }),
	orNull(text("active", func(e *entityRow) *string { return &e.active })),
}, []string{"id"}, []string{"id", "scope", "type", "entity_id"}, always(number, "expected", func(e *entityRow) *int64 { return &e.expected })}

func newEntityRow(e *dibs.EntityRecord, stamp int64) (*entityRow, error) {
	active, err := sqlrow.JSON(e.Active)
	return &entityRow{
		id: uuid(e.ID), rev: int64(e.Rev), stamp: stamp, due: int64(e.Due),
		archived: e.Archived, deleted: e.Deleted,
		scope: e.Scope, typ: e.Entity.Type, entityID: e.Entity.ID, active: active,
	}, err
}

func (r *entityRow) record() (*dibs.EntityRecord, error) {
	e := &dibs.EntityRecord{
		ID: dibs.ID(r.id), Rev: uint64(r.rev), Scope: r.scope, Entity: dibs.Entity{Type: r.typ, ID: r.entityID},
		Archived: r.archived, Deleted: r.deleted, Due: dibs.Instant(r.due),
	}
	return e, sqlrow.SetActive(e, r.active)
}

// documentRow is a row of dibs_documents.
type documentRow struct {
	kind, scope, label string
	id                 uuid
	rev, expected, due int64
	data               []byte
}

var documents = table[documentRow]{"dibs_documents", []column[documentRow]{
	always(text, "kind", func(d *documentRow) *string { return &d.kind }),
	always(id, "id", func(d *documentRow) *uuid { return &d.id }),
	number("rev", func(d *documentRow) *int64 { return &d.rev }),
	orNull(number("due", func(d *documentRow) *int64 { return &d.due })),
	orNull(text("scope", func(d *documentRow) *string { return &d.scope })),
	text("label", func(d *documentRow) *string { return &d.label }),
	orNull(blob("data", func(d *documentRow) *[]byte { return &d.data })),
}, []string{"kind", "id"}, []string{"kind", "id", "scope"}, always(number, "expected", func(d *documentRow) *int64 { return &d.expected })}

func newDocumentRow(d *dibs.Document, expected int64) *documentRow {
	return &documentRow{
		kind: string(d.Kind), scope: d.Scope, label: d.Label, id: uuid(d.ID),
		rev: int64(d.Rev), expected: expected, due: int64(d.Due), data: d.Data,
	}
}

func (r *documentRow) record() *dibs.Document {
	d := &dibs.Document{
		Kind: dibs.Kind(r.kind), Scope: r.scope, ID: dibs.ID(r.id), Rev: uint64(r.rev),
		Label: r.label, Due: dibs.Instant(r.due), Data: r.data,
	}
	if len(d.Data) == 0 {
		d.Data = nil
	}
	return d
}
