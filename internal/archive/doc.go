// Package archive keeps a whole registry in a file of JSON Lines: every record, event and document.
// [Dump] writes it from a snapshot of any store, [Load] puts it into an empty store of any engine.
//
// The lines are, in this order: a header; all names and entities, by id; all events, in the order of
// the feed; the cursors that documents contain, with the number of events before them; all documents, by
// kind and id; and an end with the number of each and the SHA-256 of all lines before. Times are
// milliseconds since 1970, UTC; members that are zero or empty are left out.
package archive

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// Version is the version of the format that this package writes, and the only one that it reads.
const Version = 1

// format is what the first line of every archive has.
const format = "dibs archive"

// line is one line of an archive: exactly one of its members is set.
type line struct {
	Header   *Header       `json:"header,omitempty"`
	Name     *nameLine     `json:"name,omitempty"`
	Entity   *entityLine   `json:"entity,omitempty"`
	Event    *eventLine    `json:"event,omitempty"`
	Cursor   *cursorLine   `json:"cursor,omitempty"`
	Document *documentLine `json:"document,omitempty"`
	End      *end          `json:"end,omitempty"`
}

// Header is the first line.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// At is the time of the snapshot on the engine's clock.
	At dibs.Instant `json:"at"`
	// Latest is the end of the feed then.
	Latest dibs.Cursor `json:"latest,omitempty"`
}

// Counts are how many of each sort an archive has.
type Counts struct {
	Names     int `json:"names"`
	Entities  int `json:"entities"`
	Events    int `json:"events"`
	Documents int `json:"documents"`
}

// end is the last line.
type end struct {
	Counts
	Cursors int `json:"cursors"`
	// Content is the [digest] of all records and events.
	Content string `json:"content"`
	// SHA256 is that of all lines before, each with its line feed.
	SHA256 string `json:"sha256"`
}

// cursorLine is a cursor in a document, and how many events of the archive are before it.
type cursorLine struct {
	Cursor dibs.Cursor `json:"cursor"`
	Events int         `json:"events"`
}

// The types below have the fields of the records and of events, so that Go converts the one into the
// other, and does not compile if a field is missing.

type name struct {
	ID            dibs.ID           `json:"id"`
	Rev           uint64            `json:"rev"`
	Namespace     string            `json:"namespace"`
	Scope         string            `json:"scope,omitempty"`
	Value         string            `json:"value,omitempty"`
	Canonical     string            `json:"canonical"`
	Profile       string            `json:"profile,omitempty"`
	State         dibs.State        `json:"state"`
	Status        dibs.Status       `json:"status"`
	Epoch         uint64            `json:"epoch"`
	CreatedAt     dibs.Instant      `json:"createdAt,omitempty"`
	Token         dibs.TokenHash    `json:"-"`
	Principal     string            `json:"principal,omitempty"`
	Intended      dibs.Entity       `json:"intended,omitzero"`
	CorrelationID string            `json:"correlationId,omitempty"`
	Meta          map[string]string `json:"meta,omitempty"`
	ExpiresAt     dibs.Instant      `json:"expiresAt,omitempty"`
	Asked         int               `json:"asked,omitempty"`
	AskAt         dibs.Instant      `json:"askAt,omitempty"`
	Doubt         string            `json:"doubt,omitempty"`
	Owner         dibs.Entity       `json:"owner,omitzero"`
	ConfirmedAt   dibs.Instant      `json:"confirmedAt,omitempty"`
	EndedAt       dibs.Instant      `json:"endedAt,omitempty"`
	Line          dibs.ID           `json:"line,omitzero"`
	Until         dibs.Instant      `json:"until,omitempty"`
	Terms         dibs.Terms        `json:"-"`
	Established   bool              `json:"established,omitempty"`
	Links         []dibs.Link       `json:"-"`
	Spent         []dibs.SpentToken `json:"-"`
	Due           dibs.Instant      `json:"due,omitempty"`
}

type terms struct {
	Witnessed   bool          `json:"witnessed,omitempty"`
	Many        bool          `json:"many,omitempty"`
	Counted     bool          `json:"counted,omitempty"`
	Quarantine  time.Duration `json:"quarantineNs,omitempty"`
	HoldHistory time.Duration `json:"holdHistoryNs,omitempty"`
}

type nameLine struct {
	name
	Token string `json:"token,omitempty"` // SHA-256 in hexadecimal
	Terms terms  `json:"terms,omitzero"`
	Links []byte `json:"links,omitempty"` // as engines store them
	Spent []byte `json:"spent,omitempty"` // as engines store them
}

type entityLine struct {
	ID       dibs.ID            `json:"id"`
	Rev      uint64             `json:"rev"`
	Scope    string             `json:"scope,omitempty"`
	Entity   dibs.Entity        `json:"entity"`
	Archived bool               `json:"archived,omitempty"`
	Deleted  bool               `json:"deleted,omitempty"`
	Active   map[string]dibs.ID `json:"active,omitempty"`
	Due      dibs.Instant       `json:"due,omitempty"`
}

type documentLine struct {
	Kind  dibs.Kind    `json:"kind"`
	Scope string       `json:"scope,omitempty"`
	ID    dibs.ID      `json:"id"`
	Rev   uint64       `json:"rev"`
	Label string       `json:"label"`
	Due   dibs.Instant `json:"due,omitempty"`
	Data  []byte       `json:"data,omitempty"` // in base64
}

type eventLine struct {
	Cursor        dibs.Cursor       `json:"cursor,omitempty"`
	Kind          dibs.EventKind    `json:"kind"`
	At            dibs.Instant      `json:"at"`
	ID            dibs.ID           `json:"id,omitzero"`
	Namespace     string            `json:"namespace,omitempty"`
	Canonical     string            `json:"canonical,omitempty"`
	Value         string            `json:"value,omitempty"`
	Rev           uint64            `json:"rev,omitempty"`
	Epoch         uint64            `json:"epoch,omitempty"`
	Before        dibs.Snapshot     `json:"before,omitzero"`
	After         dibs.Snapshot     `json:"after,omitzero"`
	Scope         string            `json:"scope,omitempty"`
	Entity        dibs.Entity       `json:"entity,omitzero"`
	Version       uint64            `json:"version,omitempty"`
	Actor         string            `json:"actor,omitempty"`
	CorrelationID string            `json:"correlationId,omitempty"`
	Meta          map[string]string `json:"meta,omitempty"`
}

// lineOf returns the line of a record.
func lineOf(r dibs.Record) (l line) {
	switch r := r.(type) {
	case *dibs.NameRecord:
		l.Name = &nameLine{name: name(*r), Terms: terms(r.Terms), Links: dibs.EncodeLinks(r.Links), Spent: record.EncodeSpent(r.Spent)}
		if !r.Token.IsZero() {
			l.Name.Token = hex.EncodeToString(r.Token[:])
		}
	case *dibs.EntityRecord:
		e := entityLine(*r)
		l.Entity = &e
	case *dibs.Document:
		d := documentLine(*r)
		l.Document = &d
	}
	return l
}

func (n *nameLine) record() (_ *dibs.NameRecord, err error) {
	r := dibs.NameRecord(n.name)
	r.Terms = dibs.Terms(n.Terms)
	if n.Token != "" {
		token, err := hex.DecodeString(n.Token)
		if err != nil || len(token) != len(r.Token) {
			return nil, errors.New("the token is not the SHA-256 of one")
		}
		r.Token = dibs.TokenHash(token)
	}
	if r.Links, err = dibs.DecodeLinks(n.Links); err != nil {
		return nil, err
	}
	r.Spent, err = record.DecodeSpent(n.Spent)
	return &r, err
}

// encoder encodes lines.
type encoder struct {
	buffer bytes.Buffer
	json   *json.Encoder
}

func newEncoder() *encoder {
	e := new(encoder)
	e.json = json.NewEncoder(&e.buffer)
	e.json.SetEscapeHTML(false)
	return e
}

// encode returns a line with its line feed, which is valid until the next call.
func (e *encoder) encode(l line) ([]byte, error) {
	e.buffer.Reset()
	if err := e.json.Encode(l); err != nil {
		return nil, err
	}
	if bytes.Contains(e.buffer.Bytes(), []byte(`\ufffd`)) { // what JSON makes of a byte that it cannot keep
		return nil, fmt.Errorf("a text is not UTF-8: %.200s", e.buffer.Bytes())
	}
	return e.buffer.Bytes(), nil
}
