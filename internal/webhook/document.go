package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/document"
)

// The kinds of document that store webhooks. None of them contains the value of a name, so
// that forgetting a value does not concern them.
const (
	kindHook            dibs.Kind = "webhook"
	kindState           dibs.Kind = "webhookstate"  // the progress of its deliveries
	kindDeadLetterCount dibs.Kind = "webhookbox"    // how many dead letters it has
	kindDeadLetter      dibs.Kind = "webhookletter" // one of them
	kindLease           dibs.Kind = "webhooklease"  // which process delivers
)

// doc is a document with its decoded content. Revision zero means that it does not exist.
type doc[T any] struct {
	kind    dibs.Kind
	label   string
	rev     uint64
	content T
}

type anyDoc interface {
	ref() dibs.Ref
	reset()
	record() *dibs.Document
	decode(dibs.Record) error
}

func (d *doc[T]) ref() dibs.Ref {
	sum := sha256.Sum256([]byte(string(d.kind) + "\x00" + d.label))
	return dibs.Ref{Kind: d.kind, ID: dibs.ID(sum[:16])}
}

// reset makes the doc one that does not exist.
func (d *doc[T]) reset() { *d = doc[T]{kind: d.kind, label: d.label} }

func (d *doc[T]) exists() bool { return d.rev > 0 }

// record returns the document with its present content, and the revision that was read.
func (d *doc[T]) record() *dibs.Document {
	data, _ := json.Marshal(d.content) // it never fails: contents consist of texts, numbers and lists
	return &dibs.Document{Kind: d.kind, ID: d.ref().ID, Rev: d.rev, Label: d.label, Data: data}
}

// decode sets the doc to a record that was loaded or listed.
func (d *doc[T]) decode(record dibs.Record) error {
	stored, ok := record.(*dibs.Document)
	if !ok {
		return fmt.Errorf("webhook: the engine returned a %T for a document", record)
	}
	d.kind, d.label, d.rev = stored.Kind, stored.Label, stored.Rev
	if err := json.Unmarshal(stored.Data, &d.content); err != nil {
		return fmt.Errorf("webhook: %s %s cannot be read: %w", stored.Kind, stored.Label, err)
	}
	return nil
}

// load loads docs at one instant, and returns that instant.
func load(ctx context.Context, store dibs.Store, docs ...anyDoc) (dibs.Instant, error) {
	refs := make([]dibs.Ref, len(docs))
	for i, d := range docs {
		d.reset() // it may be from an earlier attempt
		refs[i] = d.ref()
	}
	found, err := store.Load(ctx, refs)
	if err != nil {
		return 0, err
	}
	for _, record := range found.Records {
		if i := slices.Index(refs, record.Ref()); i >= 0 {
			if err := docs[i].decode(record); err != nil {
				return 0, err
			}
		}
	}
	return found.Now, nil
}

func list[T any](ctx context.Context, store dibs.Store, query dibs.ListQuery) ([]*doc[T], error) {
	records, err := store.List(ctx, query)
	if err != nil {
		return nil, err
	}
	docs := make([]*doc[T], len(records))
	for i, record := range records {
		docs[i] = new(doc[T])
		if err := docs[i].decode(record); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// change is a group of writes under construction.
type change struct{ group dibs.Group }

// save adds docs that are written as they are.
func (c *change) save(docs ...anyDoc) {
	for _, d := range docs {
		record := d.record()
		c.read(record)
		record.Rev++
		c.group.Writes = append(c.group.Writes, dibs.Write{Record: record})
	}
}

// remove adds docs that are deleted, if they exist.
func (c *change) remove(docs ...anyDoc) {
	for _, d := range docs {
		if record := d.record(); record.Rev > 0 {
			c.read(record)
			c.group.Writes = append(c.group.Writes, dibs.Write{Record: record, Delete: true})
		}
	}
}

func (c *change) read(record *dibs.Document) {
	c.group.Reads = append(c.group.Reads, dibs.Read{Ref: record.Ref(), Rev: record.Rev})
}

// update loads docs and commits what decide adds to the change. It starts over if one of the
// records changed meanwhile.
func update(ctx context.Context, store dibs.Store, docs []anyDoc, decide func(c *change, now dibs.Instant) error) error {
	return document.Update(ctx, store, func() (dibs.Group, error) {
		now, err := load(ctx, store, docs...)
		if err != nil {
			return dibs.Group{}, err
		}
		var c change
		err = decide(&c, now)
		return c.group, err
	})
}

// MapCursors returns a document with translated cursors, for a registry that moves to a store with
// other ones. Documents without cursors are returned as they are, also those that are not of a
// webhook. The empty cursor, which is the beginning of every feed, is not translated.
func MapCursors(d *dibs.Document, translate func(dibs.Cursor) (dibs.Cursor, error)) (*dibs.Document, error) {
	switch d.Kind {
	case kindState:
		return translated(d, func(s *state) (cursors []*dibs.Cursor) {
			cursors = append(cursors, &s.Cursor)
			for i := range s.Waiting {
				cursors = append(cursors, &s.Waiting[i].After, &s.Waiting[i].Cursor)
			}
			return cursors
		}, translate)
	case kindDeadLetter:
		return translated(d, func(l *DeadLetter) []*dibs.Cursor { return []*dibs.Cursor{&l.After, &l.Cursor} }, translate)
	default:
		return d, nil
	}
}

func translated[T any](from *dibs.Document, cursorsOf func(*T) []*dibs.Cursor, translate func(dibs.Cursor) (dibs.Cursor, error)) (*dibs.Document, error) {
	var d doc[T]
	if err := d.decode(from); err != nil {
		return nil, err
	}
	for _, cursor := range cursorsOf(&d.content) {
		if *cursor == "" {
			continue
		}
		to, err := translate(*cursor)
		if err != nil {
			return nil, err
		}
		*cursor = to
	}
	to := *from
	to.Data = d.record().Data
	return &to, nil
}
