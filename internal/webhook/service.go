package webhook

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/document"
	"github.com/calldibs/dibs/internal/wire"
)

// Config configures webhooks. Registry and Store are required; the zero value of every other
// field means its default.
type Config struct {
	// Registry provides the feed.
	Registry *dibs.Registry
	// Store is the engine under the registry. It stores the webhooks.
	Store dibs.Store

	// Timeout is how long a receiver may take to answer. Zero means 10 s.
	Timeout time.Duration
	// Pauses are the waits after the first failure, the second and so on. The last one
	// repeats. Empty means 5 s, 30 s, 2 min, 10 min, 30 min, 1 h.
	Pauses []time.Duration
	// GiveUpAfter is how long an event is retried before it becomes a dead letter. Zero
	// means three days.
	GiveUpAfter time.Duration
	// Concurrency is how many events a webhook sends at once. Zero means 4.
	Concurrency int
	// AllowPrefixes are the addresses that may be sent to although they are not public.
	AllowPrefixes []netip.Prefix
	// Source is the source of all CloudEvents. Empty means "urn:dibs".
	Source string

	// Logger logs failing webhooks. Nil means no log.
	Logger *slog.Logger
	// Observer observes every delivery. Nil means none.
	Observer Observer

	limits limits
}

// limits are the values that tests make smaller.
type limits struct {
	queued      int           // events that a hook keeps in memory
	deadLetters int           // dead letters of a hook
	lease       time.Duration // how long the lease of a silent process lasts
	poll        time.Duration // how often hooks are read, to find changes
	save        time.Duration // how often the state of deliveries is saved
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	if len(c.Pauses) == 0 {
		c.Pauses = DefaultPauses()
	}
	c.GiveUpAfter = cmp.Or(c.GiveUpAfter, 3*24*time.Hour)
	c.Concurrency = cmp.Or(c.Concurrency, 4)
	c.Source = cmp.Or(c.Source, DefaultSource)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Observer == nil {
		c.Observer = noObserver{}
	}
	c.limits.queued = cmp.Or(c.limits.queued, 1000)
	c.limits.deadLetters = cmp.Or(c.limits.deadLetters, 10_000)
	c.limits.lease = cmp.Or(c.limits.lease, c.Timeout+10*time.Second)
	c.limits.poll = cmp.Or(c.limits.poll, 2*time.Second)
	c.limits.save = cmp.Or(c.limits.save, time.Second)
	return c
}

// DefaultPauses are the waits after each failure, by default.
func DefaultPauses() []time.Duration {
	return []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour}
}

// Observer observes [Service.Deliver] and resending. Its methods are called from several
// goroutines.
type Observer interface {
	// Sent is called after each attempt.
	Sent(hook string, a Attempt)
	// GaveUp is called for each dead letter.
	GaveUp(hook string)
	// Backlog reports how many events wait in memory, and when the oldest event happened
	// that is not delivered; the zero time means that none waits.
	Backlog(hook string, waiting int, oldest time.Time)
	// Stopped is called when this process no longer delivers for a hook.
	Stopped(hook string)
	// Removed is called for each hook that no longer exists.
	Removed(hook string)
}

type noObserver struct{}

func (noObserver) Sent(string, Attempt)           {}
func (noObserver) GaveUp(string)                  {}
func (noObserver) Backlog(string, int, time.Time) {}
func (noObserver) Stopped(string)                 {}
func (noObserver) Removed(string)                 {}

// Service manages webhooks. It is safe for concurrent use. Make one with [New].
type Service struct {
	cfg    Config
	guard  *Guard
	client *http.Client // for deliveries
	// changed tells the dispatcher of this process that a hook was changed.
	changed chan struct{}
}

// New returns the webhooks of a registry. The caller closes the store and the registry.
func New(cfg Config) *Service {
	cfg = cfg.withDefaults()
	guard := NewGuard(cfg.AllowPrefixes...)
	return &Service{cfg: cfg, guard: guard, client: newClient(guard), changed: make(chan struct{}, 1)}
}

// Close closes idle connections.
func (s *Service) Close() { s.client.CloseIdleConnections() }

func (s *Service) notify() {
	select {
	case s.changed <- struct{}{}:
	default: // a notification is pending
	}
}

// Where a new webhook begins in the feed, besides cursors.
const (
	FromNow       = "now"
	FromBeginning = "beginning"
)

// Create stores a new webhook that begins at [FromNow], at [FromBeginning] or behind a cursor
// of the feed. It returns the webhook and the secret that signs its deliveries, which is
// not shown again.
func (s *Service) Create(ctx context.Context, hook Hook, from string) (*Hook, string, error) {
	if err := hook.validate(s.guard); err != nil {
		return nil, "", err
	}
	start, err := s.start(ctx, from)
	if err != nil {
		return nil, "", err
	}
	hook.ID = "wh_" + strings.ToLower(rand.Text()[:20])
	hook.Secrets = []secret{newSecret()}
	d, st := hookDocOf(hook.ID), stateDocOf(hook.ID)
	err = update(ctx, s.cfg.Store, []anyDoc{d, st}, func(c *change, now dibs.Instant) error {
		if err := s.checkRoom(ctx, hook.CreatedBy); err != nil {
			return err
		}
		hook.CreatedAt = now
		d.content, st.content = hook, state{Cursor: start}
		c.save(d, st)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	s.notify()
	return &hook, hook.Secrets[0].Text, nil
}

// checkRoom returns an error if a principal cannot create another webhook.
func (s *Service) checkRoom(ctx context.Context, createdBy string) error {
	hooks, err := s.List(ctx)
	if err != nil {
		return err
	}
	if len(hooks) >= maxHooks {
		return ErrTooMany
	}
	own := slices.DeleteFunc(hooks, func(hook *Hook) bool { return hook.CreatedBy != createdBy })
	if createdBy != "" && len(own) >= maxHooksOfOne {
		return ErrTooManyOfOne
	}
	return nil
}

// start returns the cursor at which a new webhook begins.
func (s *Service) start(ctx context.Context, from string) (dibs.Cursor, error) {
	switch from {
	case "", FromNow:
		return s.cfg.Store.Latest(ctx)
	case FromBeginning:
		return "", nil
	default: // reading the feed checks the cursor
		_, err := s.cfg.Registry.Events(ctx, dibs.FeedQuery{After: dibs.Cursor(from), Limit: 1})
		return dibs.Cursor(from), err
	}
}

// List returns all webhooks, ordered by their ids.
func (s *Service) List(ctx context.Context) ([]*Hook, error) {
	// Concurrent calls of Create can exceed maxHooks.
	docs, err := list[Hook](ctx, s.cfg.Store, dibs.ListQuery{Kind: kindHook, Limit: 2 * maxHooks})
	return wire.ListOf(docs, hookOf), err
}

// Get returns a webhook, or an error that matches [ErrNotFound].
func (s *Service) Get(ctx context.Context, id string) (*Hook, error) {
	d := hookDocOf(id)
	if _, err := load(ctx, s.cfg.Store, d); err != nil {
		return nil, err
	}
	if !d.exists() {
		return nil, notFound(id)
	}
	return hookOf(d), nil
}

// Change changes a webhook. If its URL changes or edit calls [Hook.Enable], failed deliveries
// are retried at once.
func (s *Service) Change(ctx context.Context, id string, edit func(*Hook) error) (*Hook, error) {
	return s.change(ctx, id, func(hook *Hook, now dibs.Instant) error {
		if hook.DeclaredIn != "" {
			return fmt.Errorf("%w (%s)", ErrDeclared, hook.DeclaredIn)
		}
		address := hook.URL
		if err := edit(hook); err != nil {
			return err
		}
		if hook.retryNow || hook.URL != address {
			hook.RetryAt = now
		}
		return hook.validate(s.guard)
	})
}

// Rotate gives a webhook a new secret, and returns it. The replaced one signs too until the
// grace period ends: a receiver needs to know only one of them.
func (s *Service) Rotate(ctx context.Context, id string, grace time.Duration) (*Hook, string, error) {
	if grace < 0 || grace > MaxGrace {
		return nil, "", invalid("graceMs", "must be between 0 and %d", MaxGrace.Milliseconds())
	}
	hook, err := s.change(ctx, id, func(hook *Hook, now dibs.Instant) error {
		if hook.DeclaredIn != "" {
			return fmt.Errorf("%w (%s)", ErrDeclared, hook.DeclaredIn)
		}
		hook.Secrets = rotated(hook.Secrets, now, now.Add(grace))
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return hook, hook.Secrets[0].Text, nil
}

func notFound(id string) error { return fmt.Errorf("%w: %s", ErrNotFound, id) }

func (s *Service) change(ctx context.Context, id string, edit func(*Hook, dibs.Instant) error) (changed *Hook, err error) {
	d := hookDocOf(id)
	err = update(ctx, s.cfg.Store, []anyDoc{d}, func(c *change, now dibs.Instant) error {
		if !d.exists() {
			return notFound(id)
		}
		changed = hookOf(d)
		if err := edit(changed, now); err != nil {
			return err
		}
		d.content = *changed
		c.save(d)
		return nil
	})
	s.notify() // after an error too: the commit may have succeeded
	return changed, err
}

// Remove removes a webhook with its state and its dead letters. The dead letters go first, so
// that an interrupted call can be repeated.
func (s *Service) Remove(ctx context.Context, id string) error {
	d, st, count := hookDocOf(id), stateDocOf(id), deadLetterCountOf(id)
	err := update(ctx, s.cfg.Store, []anyDoc{d, st, count}, func(c *change, _ dibs.Instant) error {
		if !d.exists() {
			return notFound(id)
		}
		if place := d.content.DeclaredIn; place != "" {
			return fmt.Errorf("%w (%s)", ErrDeclared, place)
		}
		if removed, err := s.RemoveDeadLetters(ctx, id); err != nil || removed > 0 {
			return cmp.Or(err, document.ErrStale) // the count is another one now
		}
		c.remove(d, st, count) // a runner stops when it finds no state
		return nil
	})
	s.notify()
	return err
}
