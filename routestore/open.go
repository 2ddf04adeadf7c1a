package routestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

const (
	// patience is how long Open waits for another process that stores the same routes.
	patience = 2 * changeWait
	// pollEvery is how often it checks whether that process is done.
	pollEvery = 250 * time.Millisecond
)

// Config says where scopes are. Only Routes are required.
type Config struct {
	// Routes are the parts. One of them has [Everything]. A single part works like its engine
	// alone, until other processes give its scopes to further parts.
	Routes []Route
	// Keep refuses to change the stored routes, which would stop all other processes. It is for
	// tools beside a server. New and empty parts are accepted all the same.
	Keep bool
	// Logger logs changes of the routes. Nil means no log.
	Logger *slog.Logger

	wait time.Duration // for other processes; zero means changeWait
}

// Open makes one store of several parts. The Store then closes them; if Open fails, the caller
// must.
//
// If the stored routes are the same, it opens at once. If they differ, Open stores the new ones:
// processes with the former routes notice that, and answer all further commands with UNAVAILABLE.
// Open waits 12 seconds for them, unless all parts are empty. It fails and changes nothing if a
// part has another name than it has stored, or has names whose scope the new routes give to
// another part.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	t, err := newTable(cfg.Routes)
	if err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.wait = cmp.Or(cfg.wait, changeWait)
	background, stop := context.WithCancel(context.Background())
	s := &Store{table: t, stop: stop}
	for i, route := range cfg.Routes {
		if route.Store == nil {
			stop()
			return nil, fmt.Errorf("routestore: the route %q has no Store: set it", route.Name)
		}
		s.parts = append(s.parts, newPart(t, i, route.Store))
	}
	if err := s.agree(ctx, cfg); err != nil {
		stop()
		return nil, err
	}
	for _, p := range s.parts {
		if err := p.lease.renew(ctx); err != nil {
			stop()
			return nil, err
		}
	}
	for _, p := range s.parts {
		s.working.Go(func() { p.lease.keep(background, p.reporter(cfg.Logger)) })
	}
	return s, nil
}

// reporter returns a function that logs renewals of a part's lease.
func (p *part) reporter(log *slog.Logger) func(err error) {
	if len(p.table.names) > 1 {
		log = log.With("part", p.name())
	}
	return func(err error) {
		switch {
		case err == nil:
			log.Info("routestore: the store is available again")
		case !errors.Is(err, dibs.ErrClosed):
			log.Warn("routestore: the store is not available", "error", err)
		}
	}
}

// agree makes all parts store the routes of this store, and waits until no process uses others.
func (s *Store) agree(ctx context.Context, cfg Config) error {
	var waiting []storedRoutes // what another process that changes the routes has stored
	var since time.Time
	for began := time.Now(); time.Since(began) < 2*patience; {
		records, err := s.storedRoutes(ctx)
		if err != nil {
			return err
		}
		if _, err := s.table.oneRegistry(records); err != nil {
			return err
		}
		if s.allAgree(records) {
			return nil
		}
		if !slices.Equal(records, waiting) {
			waiting, since = records, time.Now()
		}
		// If another process is changing the routes, wait for it, but not longer than patience.
		if !s.underWay(records) || time.Since(since) > patience {
			if err := s.change(ctx, cfg, records); err != nil && !errors.Is(err, errRaced) {
				return err
			}
			continue
		}
		if err := backoff.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
	return errRaced
}

// storedRoutes reads the stored routes of all parts.
func (s *Store) storedRoutes(ctx context.Context) ([]storedRoutes, error) {
	records := make([]storedRoutes, len(s.parts))
	for i, p := range s.parts {
		var err error
		if records[i], err = readRoutes(ctx, p.engine); err != nil {
			return nil, fmt.Errorf("part %q: %w", p.name(), err)
		}
	}
	return records, nil
}

// allAgree reports whether all parts have stored the routes of this store.
func (s *Store) allAgree(records []storedRoutes) bool {
	for i, r := range records {
		if s.table.agrees(r, i) != nil {
			return false
		}
	}
	return true
}

// underWay reports whether another process is storing the same routes.
func (s *Store) underWay(records []storedRoutes) bool {
	for i, r := range records {
		if r.Part == s.table.names[i] && r.Routes == s.table.text && !r.Complete {
			return true
		}
	}
	return false
}
