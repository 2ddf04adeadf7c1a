package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// DeadLetter is an event that was given up after its receiver had failed for too long. It is
// stored as JSON; the event itself stays in the feed.
type DeadLetter struct {
	ID       string         `json:"-"`
	Kind     dibs.EventKind `json:"kind"`
	Name     dibs.ID        `json:"name,omitzero"`   // zero for an event about an entity
	Where    string         `json:"where,omitempty"` // the namespace, or the scope of the entity
	EventAt  dibs.Instant   `json:"eventAt"`
	DeadAt   dibs.Instant   `json:"deadAt"`
	Attempts int            `json:"attempts"`
	// LastError is the error of the last attempt.
	LastError string `json:"error"`
	// After and Cursor are the cursors just before and just behind the event.
	After  dibs.Cursor `json:"after,omitempty"`
	Cursor dibs.Cursor `json:"cursor"`
}

// Covers reports whether a dead letter is from a namespace of the webhook. A dead letter from
// a namespace that the webhook no longer has is not: a caller with rights to the webhook may
// have no rights in that namespace.
func (h *Hook) Covers(l DeadLetter) bool { return h.covers(l.Name, l.Where) }

// deadLetterDocOf returns the document of a dead letter. Lists have those of a hook in the
// order of their creation.
func deadLetterDocOf(hook, id string) *doc[DeadLetter] {
	return &doc[DeadLetter]{kind: kindDeadLetter, label: hook + "/" + id}
}

type deadLetterCount struct {
	Last    uint64 `json:"last"`              // the number of the newest one
	Count   int    `json:"count"`             // how many exist
	Dropped int    `json:"dropped,omitempty"` // how many were dropped because there were too many
}

func deadLetterCountOf(hook string) *doc[deadLetterCount] {
	return &doc[deadLetterCount]{kind: kindDeadLetterCount, label: hook}
}

// listDeadLetters lists the documents of a hook's dead letters behind an id, oldest first. An
// empty id means all.
func (s *Service) listDeadLetters(ctx context.Context, hook, behind string, limit int) ([]*doc[DeadLetter], error) {
	query := dibs.ListQuery{Kind: kindDeadLetter, From: hook + "/", To: hook + "0", Limit: limit} // '0' follows '/'
	if behind != "" {
		query.After = &dibs.ListPosition{Label: hook + "/" + behind}
	}
	return list[DeadLetter](ctx, s.cfg.Store, query)
}

func deadLetterOf(d *doc[DeadLetter]) DeadLetter {
	letter := d.content
	_, letter.ID, _ = strings.Cut(d.label, "/")
	return letter
}

// DeadLetters returns up to limit dead letters behind the one with the id, oldest first.
// An empty id means from the first.
func (s *Service) DeadLetters(ctx context.Context, hook, behind string, limit int) ([]DeadLetter, error) {
	docs, err := s.listDeadLetters(ctx, hook, behind, limit)
	return wire.ListOf(docs, deadLetterOf), err
}

// DeadLetter returns a dead letter with its event, which is nil if the feed no longer has it.
// A dead letter that the webhook does not cover is not found.
func (s *Service) DeadLetter(ctx context.Context, hook *Hook, id string) (DeadLetter, *dibs.Event, error) {
	d := deadLetterDocOf(hook.ID, id)
	if _, err := load(ctx, s.cfg.Store, d); err != nil {
		return DeadLetter{}, nil, err
	}
	letter := deadLetterOf(d)
	if !d.exists() || !hook.Covers(letter) {
		return DeadLetter{}, nil, fmt.Errorf("%w: %s", ErrNoDeadLetter, id)
	}
	event, err := eventAt(ctx, s.cfg.Store, letter.After, letter.Cursor)
	return letter, event, err
}

// RemoveDeadLetter removes a dead letter. Its event will not be delivered.
func (s *Service) RemoveDeadLetter(ctx context.Context, hook, id string) error {
	removed, err := s.removeDeadLetters(ctx, hook, deadLetterDocOf(hook, id))
	if err == nil && removed == 0 {
		return fmt.Errorf("%w: %s", ErrNoDeadLetter, id)
	}
	return err
}

// RemoveDeadLetters removes all dead letters of a hook, and returns their number.
func (s *Service) RemoveDeadLetters(ctx context.Context, hook string) (removed int, err error) {
	for {
		docs, err := s.listDeadLetters(ctx, hook, "", removedAtOnce)
		if err != nil || len(docs) == 0 {
			return removed, err
		}
		n, err := s.removeDeadLetters(ctx, hook, docs...)
		if err != nil {
			return removed, err
		}
		removed += n
	}
}

// removedAtOnce is small enough for one commit of every engine.
const removedAtOnce = 20

// removeDeadLetters removes those dead letters that still exist, and returns their number.
func (s *Service) removeDeadLetters(ctx context.Context, hook string, letters ...*doc[DeadLetter]) (removed int, err error) {
	count := deadLetterCountOf(hook)
	docs := []anyDoc{count}
	for _, d := range letters {
		docs = append(docs, d)
	}
	err = update(ctx, s.cfg.Store, docs, func(c *change, _ dibs.Instant) error {
		removed = 0
		for _, d := range letters {
			if d.exists() {
				c.remove(d)
				removed++
			}
		}
		if removed > 0 {
			count.content.Count = max(count.content.Count-removed, 0)
			c.save(count)
		}
		return nil
	})
	return removed, err
}

// addDeadLetter adds to a change that an event becomes a dead letter. The oldest dead letter is
// dropped if there are too many.
func (s *Service) addDeadLetter(ctx context.Context, c *change, count *doc[deadLetterCount], it *item, failed Attempt) error {
	hook := count.label
	if count.content.Count >= s.cfg.limits.deadLetters {
		oldest, err := s.listDeadLetters(ctx, hook, "", 1)
		if err != nil {
			return err
		}
		for _, d := range oldest {
			c.remove(d)
			count.content.Count--
			count.content.Dropped++
		}
	}
	count.content.Last++
	count.content.Count++
	d := deadLetterDocOf(hook, fmt.Sprintf("dl_%012d", count.content.Last))
	e := it.event
	d.content = DeadLetter{
		Kind: e.Kind, Name: e.ID, Where: whereOf(e), EventAt: e.At, DeadAt: dibs.InstantOf(failed.ended()),
		Attempts: it.attempts, LastError: failed.Error, After: it.after, Cursor: e.Cursor,
	}
	c.save(d, count)
	return nil
}

// Ping sends a message without an event, at once, even if the webhook is disabled. If the
// receiver accepts it, waiting events are retried.
func (s *Service) Ping(ctx context.Context, hook *Hook) (a Attempt, err error) {
	a = s.attempt(ctx, hook, pingMessage(hook.ID, s.cfg.Source, rand.Text(), time.Now()))
	if a.Delivered() && hook.Enabled {
		_, err = s.Change(ctx, hook.ID, func(hook *Hook) error {
			hook.retryNow = true
			return nil
		})
	}
	return a, err
}

// Resend sends the event of a dead letter, at once. If the receiver accepts it, Resend removes
// the dead letter.
func (s *Service) Resend(ctx context.Context, hook *Hook, id string) (Attempt, error) {
	_, event, err := s.DeadLetter(ctx, hook, id)
	if err != nil {
		return Attempt{}, err
	}
	if event == nil {
		return Attempt{}, ErrPurged
	}
	a := s.attempt(ctx, hook, messageOf(hook.ID, s.cfg.Source, event))
	s.cfg.Observer.Sent(hook.ID, a)
	if a.Delivered() {
		// Another caller may have removed it meanwhile: it was accepted all the same.
		if err = s.RemoveDeadLetter(ctx, hook.ID, id); errors.Is(err, ErrNoDeadLetter) {
			err = nil
		}
	}
	return a, err
}

// ResendAll sends the events of dead letters, oldest first, until one fails or the context
// would end before a slow receiver answers. A further call goes on with the rest.
func (s *Service) ResendAll(ctx context.Context, hook *Hook) (r wire.DeadLettersResent, err error) {
	end, limited := ctx.Deadline()
	behind := ""
	for first := true; r.Failed == nil && (first || !limited || time.Until(end) > s.cfg.Timeout+time.Second); first = false {
		letters, err := s.DeadLetters(ctx, hook.ID, behind, 1)
		if err != nil {
			return r, err
		}
		if len(letters) == 0 {
			break
		}
		behind = letters[0].ID
		a, err := s.Resend(ctx, hook, behind)
		switch {
		case errors.Is(err, ErrNoDeadLetter): // resent by another caller, or no longer covered by the webhook
		case errors.Is(err, ErrPurged):
			r.Purged++
			err = s.RemoveDeadLetter(ctx, hook.ID, behind)
			if err != nil && !errors.Is(err, ErrNoDeadLetter) {
				return r, err
			}
		case err != nil:
			return r, err
		case a.Delivered():
			r.Delivered++
		default:
			r.Failed = new(a.Wire())
		}
	}
	count := deadLetterCountOf(hook.ID)
	_, err = load(ctx, s.cfg.Store, count)
	r.Left = count.content.Count
	return r, err
}
