package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

// The kinds of document that webhooks are kept in. None of them has a name's value in it:
// whatever forgets a value need not look here.
const (
	kindHook   dibs.Kind = "webhook"       // what it is
	kindState  dibs.Kind = "webhookstate"  // how far its deliveries are
	kindBox    dibs.Kind = "webhookbox"    // how many dead letters it has
	kindLetter dibs.Kind = "webhookletter" // one of them
	kindLease  dibs.Kind = "webhooklease"  // who delivers
)

func refOf(kind dibs.Kind, label string) dibs.Ref {
	sum := sha256.Sum256([]byte(string(kind) + "\x00" + label))
	return dibs.Ref{Kind: kind, ID: dibs.ID(sum[:16])}
}

// page is a document with its content, as it was loaded. The zero revision means that it
// is not there.
type page[T any] struct {
	kind    dibs.Kind
	label   string
	rev     uint64
	content T
}

func (p *page[T]) ref() dibs.Ref { return refOf(p.kind, p.label) }

// there reports whether the document exists.
func (p *page[T]) there() bool { return p.rev > 0 }

func (p *page[T]) read() dibs.Read { return dibs.Read{Ref: p.ref(), Rev: p.rev} }

// write returns the change that stores the content.
func (p *page[T]) write() (dibs.Write, error) {
	data, err := json.Marshal(p.content)
	if err != nil {
		return dibs.Write{}, fmt.Errorf("webhook: %w", err)
	}
	return dibs.Write{Record: &dibs.Document{Kind: p.kind, ID: p.ref().ID, Rev: p.rev + 1, Label: p.label, Data: data}}, nil
}

// remove returns the change that deletes the document.
func (p *page[T]) remove() dibs.Write {
	return dibs.Write{Record: &dibs.Document{Kind: p.kind, ID: p.ref().ID, Rev: p.rev, Label: p.label}, Delete: true}
}

// take fills a page from what was loaded or listed.
func (p *page[T]) take(record dibs.Record) error {
	doc, ok := record.(*dibs.Document)
	if !ok {
		return fmt.Errorf("webhook: the engine returned a %T for a document", record)
	}
	p.kind, p.label, p.rev = doc.Kind, doc.Label, doc.Rev
	if err := json.Unmarshal(doc.Data, &p.content); err != nil {
		return fmt.Errorf("webhook: %s %s cannot be read: %w", doc.Kind, doc.Label, err)
	}
	return nil
}

// loader is a page of any content.
type loader interface {
	ref() dibs.Ref
	take(dibs.Record) error
}

// load loads pages at one moment, and returns that moment.
func load(ctx context.Context, store dibs.Store, pages ...loader) (dibs.Instant, error) {
	refs := make([]dibs.Ref, len(pages))
	for i, p := range pages {
		refs[i] = p.ref()
	}
	found, err := store.Load(ctx, refs)
	if err != nil {
		return 0, err
	}
	for _, record := range found.Records {
		for i, p := range pages {
			if refs[i] != record.Ref() {
				continue
			}
			if err := p.take(record); err != nil {
				return 0, err
			}
		}
	}
	return found.Now, nil
}

// errAgain asks for another try.
var errAgain = errors.New("try again")

const (
	tries     = 10
	firstWait = 5 * time.Millisecond // and twice as long each time
)

// commit commits one group, or returns errAgain where somebody else was faster.
func commit(ctx context.Context, store dibs.Store, group dibs.Group) error {
	outcomes, err := store.Commit(ctx, []dibs.Group{group})
	switch {
	case err != nil:
		return err
	case len(outcomes) == 1 && outcomes[0] == dibs.Committed:
		return nil
	default: // stale or busy
		return errAgain
	}
}

// insist commits what decide returns, and decides again where somebody else was faster.
func insist(ctx context.Context, store dibs.Store, decide func() (dibs.Group, error)) error {
	wait := firstWait
	for range tries {
		group, err := decide()
		if err == nil {
			err = commit(ctx, store, group)
		}
		if !errors.Is(err, errAgain) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return dibs.Unavailable(ctx.Err())
		}
		wait *= 2
	}
	return dibs.Unavailable(fmt.Errorf("webhook: others were faster %d times", tries))
}
