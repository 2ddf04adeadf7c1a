package copier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/snapshot"
)

// stateRef is the address of the document in the target that says how far the copy is. Every commit
// of the copier writes it, so that no event is copied twice.
var stateRef = dibs.Ref{Kind: snapshot.KindCopy, ID: dibs.ID{'c', 'o', 'p', 'y'}}

// state is the document.
type state struct {
	From   string       `json:"from"`
	ID     string       `json:"id,omitempty"`     // of the copy, which the fence of the source has too
	Cursor dibs.Cursor  `json:"cursor,omitempty"` // of the source: all events up to it are copied
	Done   dibs.Instant `json:"done,omitzero"`    // when the copy was complete
	End    dibs.Cursor  `json:"end,omitempty"`    // of the target, then
	Report Report       `json:"report,omitzero"`  // what both sides had then

	rev uint64 // 0 if there is no document
}

func (s *state) load(ctx context.Context, target dibs.Store) error {
	found, err := target.Load(ctx, []dibs.Ref{stateRef})
	if err != nil || len(found.Records) == 0 {
		return err
	}
	d, ok := found.Records[0].(*dibs.Document)
	if !ok {
		return fmt.Errorf("copier: the engine returned a %T for a document", found.Records[0])
	}
	s.rev = d.Rev
	if err := json.Unmarshal(d.Data, s); err != nil {
		return fmt.Errorf("copier: the position of the copy cannot be read: %w", err)
	}
	return nil
}

// Unfinished returns the source of a copy into this store that is not finished; empty if there is
// none. Until then no server may use the store.
func Unfinished(ctx context.Context, store dibs.Store) (from string, err error) {
	var s state
	if err := s.load(ctx, store); err != nil || s.rev == 0 || s.Done != 0 {
		return "", err
	}
	return s.From, nil
}

// withState adds the document to a group.
func (c *copying) withState(g dibs.Group) dibs.Group {
	data, _ := json.Marshal(&c.state) // it never fails: texts and numbers
	g.Reads = append(g.Reads, dibs.Read{Ref: stateRef, Rev: c.state.rev})
	g.Writes = append(g.Writes, dibs.Write{Record: &dibs.Document{Kind: stateRef.Kind, ID: stateRef.ID, Rev: c.state.rev + 1, Label: "copy", Data: data}})
	return g
}

// errTooLarge says that the target cannot commit that much at once.
var errTooLarge = errors.New("the target cannot commit a single event: raise the limits of its servers")

// commit commits a group that [copying.withState] has completed. Nothing else may write to the
// target, so a stale group is an error.
func (c *copying) commit(ctx context.Context, g dibs.Group) error {
	for retry := (backoff.Backoff{First: 5 * time.Millisecond, Max: time.Second}); ; {
		outcomes, err := c.target.Commit(ctx, []dibs.Group{g})
		if err != nil {
			return err
		}
		switch outcomes[0] {
		case dibs.Committed:
			c.state.rev++
			return nil
		case dibs.TooLarge:
			return errTooLarge
		case dibs.Busy:
			if err := retry.Wait(ctx); err != nil {
				return err
			}
		default:
			return ErrInUse
		}
	}
}
