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
	// patience is how long Open waits for others that change the routes to the same.
	patience = 2 * settleTime
	// lookAgain is how often it looks whether they are done.
	lookAgain = 250 * time.Millisecond
)

// Config says where scopes are. Only Routes are needed.
type Config struct {
	// Routes are the parts. One of them has [Everything]. One alone is a store like any
	// other, which stops when somebody gives its scopes to other parts.
	Routes []Route
	// Keep refuses to change the routes on record, which would stop everybody else: for
	// tools beside a server. Parts that are new and empty are taken all the same.
	Keep bool
	// Logger is told of changed routes. Nil means nobody is told.
	Logger *slog.Logger

	settle time.Duration // how long to wait for others; zero means settleTime
}

// Open makes one store of several parts, and owns them from then on. If it fails, closing
// them is left to the caller.
//
// If the routes on record are the same, it opens at once. If they differ, every part must be
// one that its record says it is, and must have no name whose scope is another part's by the
// new routes; otherwise Open fails, and nothing is changed. Then the new routes are put on
// record. Processes with the former ones notice that, and from then on all of their commands
// are UNAVAILABLE. Open waits for that, 12 seconds, before it returns. Where all parts are
// empty it need not wait.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	t, err := newTable(cfg.Routes)
	if err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.settle = cmp.Or(cfg.settle, settleTime)
	background, stop := context.WithCancel(context.Background())
	s := &Store{table: t, stop: stop}
	for i, route := range cfg.Routes {
		if route.Store == nil {
			stop()
			return nil, fmt.Errorf("routestore: the route %q has no Store", route.Name)
		}
		s.parts = append(s.parts, newPart(t, i, route.Store))
	}
	if err := s.agree(ctx, cfg); err != nil {
		stop()
		return nil, err
	}
	for _, p := range s.parts {
		s.working.Go(func() { p.lease.keep(background, p.tell(cfg.Logger)) })
	}
	return s, nil
}

// tell logs how a part's lease is. A store without routes is no part of anything.
func (p *part) tell(log *slog.Logger) func(err error) {
	if len(p.table.names) > 1 {
		log = log.With("part", p.name())
	}
	return func(err error) {
		switch {
		case err == nil:
			log.Info("routestore: the store can be used again")
		case !errors.Is(err, dibs.ErrClosed):
			log.Warn("routestore: the store cannot be used", "error", err)
		}
	}
}

// agree returns when the routes on record are this store's in all parts, and nobody works
// by others.
func (s *Store) agree(ctx context.Context, cfg Config) error {
	var waiting []record // what was on record when somebody else began to change it
	var since time.Time
	for began := time.Now(); time.Since(began) < 2*patience; {
		records, err := s.records(ctx)
		if err != nil {
			return err
		}
		if _, err := s.table.oneRegistry(records); err != nil {
			return err
		}
		if s.settled(records) {
			return s.begin(ctx)
		}
		if !slices.Equal(records, waiting) {
			waiting, since = records, time.Now()
		}
		// Somebody else is at it, unless it takes too long.
		if !s.underWay(records) || time.Since(since) > patience {
			if err := s.change(ctx, cfg, records); err != nil && !errors.Is(err, errRaced) {
				return err
			}
			continue
		}
		if err := backoff.Sleep(ctx, lookAgain); err != nil {
			return err
		}
	}
	return errRaced
}

// records reads what all parts have on record.
func (s *Store) records(ctx context.Context) ([]record, error) {
	records := make([]record, len(s.parts))
	for i, p := range s.parts {
		var err error
		if records[i], err = readRecord(ctx, p.engine); err != nil {
			return nil, fmt.Errorf("part %q: %w", p.name(), err)
		}
	}
	return records, nil
}

func (s *Store) settled(records []record) bool {
	for i, r := range records {
		if s.table.agrees(r, i) != nil {
			return false
		}
	}
	return true
}

// underWay reports whether somebody is changing the routes to the same as ours.
func (s *Store) underWay(records []record) bool {
	for i, r := range records {
		if r.Part == s.table.names[i] && r.Routes == s.table.text && !r.Settled {
			return true
		}
	}
	return false
}

// begin takes the leases.
func (s *Store) begin(ctx context.Context) error {
	for _, p := range s.parts {
		if err := p.lease.renew(ctx); err != nil {
			return err
		}
	}
	return nil
}
