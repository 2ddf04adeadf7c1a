package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

// Service keeps webhooks. It is safe for concurrent use. Make one with [New].
type Service struct {
	cfg    Config
	guard  *Guard
	sender *sender
	// rung tells the Courier of this process that a hook was changed.
	rung chan struct{}
}

// New returns the webhooks of a registry. Its store and its registry are left to the
// caller to close.
func New(cfg Config) *Service {
	cfg = cfg.withDefaults()
	guard := NewGuard(cfg.AllowPrefixes...)
	return &Service{cfg: cfg, guard: guard, sender: newSender(guard, cfg.Timeout, cfg.Version), rung: make(chan struct{}, 1)}
}

// Close closes connections that nobody uses.
func (s *Service) Close() { s.sender.close() }

func (s *Service) ring() {
	select {
	case s.rung <- struct{}{}:
	default: // it was told already
	}
}

// Where a new webhook begins in the feed, apart from cursors.
const (
	FromNow       = "now"
	FromBeginning = "beginning"
)

// Create keeps a new webhook, which begins at a place in the feed: [FromNow],
// [FromBeginning] or behind a cursor. It returns the webhook and the secret that signs
// its deliveries, which is not shown again.
func (s *Service) Create(ctx context.Context, hook Hook, from string) (*Hook, string, error) {
	if err := hook.validate(s.guard); err != nil {
		return nil, "", err
	}
	start, err := s.start(ctx, from)
	if err != nil {
		return nil, "", err
	}
	hook.secrets = []secret{newSecret()}
	err = insist(ctx, s.cfg.Store, func() (dibs.Group, error) { return s.creation(ctx, &hook, start) })
	if err != nil {
		return nil, "", err
	}
	hook.rev = 1
	s.ring()
	return &hook, hook.secrets[0].Text, nil
}

func (s *Service) creation(ctx context.Context, hook *Hook, start dibs.Cursor) (dibs.Group, error) {
	others, err := s.List(ctx)
	if err != nil {
		return dibs.Group{}, err
	}
	if len(others) >= maxHooks {
		return dibs.Group{}, ErrTooMany
	}
	own := 0
	for _, other := range others {
		if other.CreatedBy != "" && other.CreatedBy == hook.CreatedBy {
			own++
		}
	}
	if own >= maxHooksOfOne {
		return dibs.Group{}, ErrTooManyOfOne
	}
	hook.ID = newID()
	p, st := hookAt(hook.ID), stateAt(hook.ID)
	now, err := load(ctx, s.cfg.Store, p)
	if err != nil {
		return dibs.Group{}, err
	}
	hook.CreatedAt = now.Time()
	p.content, st.content = hook.content(), state{Cursor: start}
	writeHook, err := p.write()
	if err != nil {
		return dibs.Group{}, err
	}
	writeState, err := st.write()
	return dibs.Group{Reads: []dibs.Read{p.read(), st.read()}, Writes: []dibs.Write{writeHook, writeState}}, err
}

// start returns the cursor at which a new webhook begins.
func (s *Service) start(ctx context.Context, from string) (dibs.Cursor, error) {
	switch from {
	case "", FromNow:
		return s.cfg.Store.Latest(ctx)
	case FromBeginning:
		return "", nil
	default: // the feed says whether there is such a cursor
		_, err := s.cfg.Registry.Events(ctx, dibs.FeedQuery{After: dibs.Cursor(from), Limit: 1})
		return dibs.Cursor(from), err
	}
}

// List returns all webhooks, by their ids.
func (s *Service) List(ctx context.Context) ([]*Hook, error) {
	records, err := s.cfg.Store.List(ctx, dibs.ListQuery{Kind: kindHook, Limit: 2 * maxHooks}) // two may be made at once
	if err != nil {
		return nil, err
	}
	hooks := make([]*Hook, len(records))
	for i, record := range records {
		var p hookPage
		if err := p.take(record); err != nil {
			return nil, err
		}
		hooks[i] = hookOf(&p)
	}
	return hooks, nil
}

// Get returns a webhook, or an error that matches [ErrNotFound].
func (s *Service) Get(ctx context.Context, id string) (*Hook, error) {
	p := hookAt(id)
	if _, err := load(ctx, s.cfg.Store, p); err != nil {
		return nil, err
	}
	if !p.there() {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return hookOf(p), nil
}

// Change changes a webhook. Deliveries that failed are tried at once if it has another
// address, or [Hook.Enable] was called, also if it was enabled before.
func (s *Service) Change(ctx context.Context, id string, change func(*Hook) error) (*Hook, error) {
	return s.change(ctx, id, func(hook *Hook, now dibs.Instant) error {
		address := hook.URL
		if err := change(hook); err != nil {
			return err
		}
		if hook.nudge || hook.URL != address {
			hook.nudged = now
		}
		return hook.validate(s.guard)
	})
}

// Rotate gives a webhook another secret, and returns it. The one before it goes on
// signing for a while: a receiver that knows either of them is content.
func (s *Service) Rotate(ctx context.Context, id string, grace time.Duration) (*Hook, string, error) {
	if grace < 0 || grace > MaxGrace {
		return nil, "", invalid("graceMs", "must be between 0 and %d", MaxGrace.Milliseconds())
	}
	hook, err := s.change(ctx, id, func(hook *Hook, now dibs.Instant) error {
		hook.secrets = rotated(hook.secrets, now, now.Add(grace))
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return hook, hook.secrets[0].Text, nil
}

func (s *Service) change(ctx context.Context, id string, change func(*Hook, dibs.Instant) error) (changed *Hook, err error) {
	err = insist(ctx, s.cfg.Store, func() (dibs.Group, error) {
		p := hookAt(id)
		now, err := load(ctx, s.cfg.Store, p)
		if err != nil {
			return dibs.Group{}, err
		}
		if !p.there() {
			return dibs.Group{}, fmt.Errorf("%w: %s", ErrNotFound, id)
		}
		changed = hookOf(p)
		if err := change(changed, now); err != nil {
			return dibs.Group{}, err
		}
		p.content = changed.content()
		write, err := p.write()
		changed.rev = p.rev + 1
		return dibs.Group{Reads: []dibs.Read{p.read()}, Writes: []dibs.Write{write}}, err
	})
	s.ring() // also if it failed: it may have happened
	return changed, err
}

// Remove removes a webhook with all that belongs to it. Its dead letters go first, so that
// whoever is cut off meanwhile can ask again, and once more at the end.
func (s *Service) Remove(ctx context.Context, id string) error {
	if _, err := s.RemoveLetters(ctx, id); err != nil {
		return err
	}
	err := insist(ctx, s.cfg.Store, func() (dibs.Group, error) {
		p, st := hookAt(id), stateAt(id)
		if _, err := load(ctx, s.cfg.Store, p, st); err != nil {
			return dibs.Group{}, err
		}
		if !p.there() {
			return dibs.Group{}, fmt.Errorf("%w: %s", ErrNotFound, id)
		}
		group := dibs.Group{Reads: []dibs.Read{p.read()}, Writes: []dibs.Write{p.remove()}}
		if st.there() { // whoever delivers for it finds it gone, and stops
			group.Reads, group.Writes = append(group.Reads, st.read()), append(group.Writes, st.remove())
		}
		return group, nil
	})
	s.ring()
	if err != nil {
		return err
	}
	return s.removeBox(ctx, id)
}
