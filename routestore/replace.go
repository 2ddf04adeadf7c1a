package routestore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/calldibs/dibs/internal/backoff"
)

// change replaces the stored routes, unless a name would be lost. If another process changes them
// at the same time, it fails with errRaced.
func (s *Store) change(ctx context.Context, cfg Config, before []storedRoutes) error {
	if err := s.checkReplace(before); err != nil {
		return err
	}
	empty, err := s.checkNamespaces(ctx)
	if err != nil {
		return err
	}
	isNew := !slices.ContainsFunc(before, func(r storedRoutes) bool { return r.rev > 0 })
	if isNew && empty {
		return s.replace(ctx, before, func() error { return nil })
	}
	if cfg.Keep {
		return s.errDiffers(before)
	}
	cfg.Logger.Info("routestore: changing the routes; waiting until no process uses the former ones", "routes", s.table.text, "wait", cfg.wait)
	// Other processes stop once they see the new routes. Then their last changes are checked.
	return s.replace(ctx, before, func() error {
		if err := backoff.Sleep(ctx, cfg.wait); err != nil {
			return err
		}
		_, err := s.checkNamespaces(ctx)
		return err
	})
}

// checkReplace returns why the routes must not replace the stored ones.
func (s *Store) checkReplace(before []storedRoutes) error {
	for i, r := range before {
		if r.rev == 0 {
			continue
		}
		if name := s.table.names[i]; r.Part != name {
			return errWrongPart(r.Part, name)
		}
		former, err := parse(r.inForce())
		if err != nil {
			return err
		}
		if err := s.table.checkFollows(former); err != nil {
			return err
		}
		for j, other := range before {
			if name := s.table.names[j]; other.rev == 0 && len(former[name]) > 0 {
				return errNoRoutes(name)
			}
		}
	}
	return nil
}

// errDiffers returns that the stored routes differ, and how to change them.
func (s *Store) errDiffers(before []storedRoutes) error {
	for i, r := range before {
		if r.rev > 0 && r.Routes != s.table.text {
			return fmt.Errorf("routestore: the stored routes in %q are %s, but the configured ones are %s: use the configuration of the servers; "+
				"to change the routes, start the servers with the new ones first", s.table.names[i], r.Routes, s.table.text)
		}
	}
	return errors.New("routestore: the routes are not stored yet: start the servers with them first")
}

// replace stores the routes, and marks them as complete once wait returns. If that fails, it
// restores the former ones.
func (s *Store) replace(ctx context.Context, before []storedRoutes, wait func() error) error {
	written, err := s.put(ctx, before, false)
	if err == nil {
		err = wait()
	}
	if err == nil {
		_, err = s.put(ctx, written, true)
		return err
	}
	if errors.Is(err, errRaced) {
		return err
	}
	return errors.Join(err, s.restore(ctx))
}

// put writes the routes into all parts, in place of the records that were read before, and
// returns the new records.
func (s *Store) put(ctx context.Context, before []storedRoutes, complete bool) ([]storedRoutes, error) {
	registry, err := s.table.oneRegistry(before)
	if err != nil {
		return nil, err
	}
	registry = cmp.Or(registry, rand.Text())
	written := make([]storedRoutes, len(s.parts))
	for i, p := range s.parts {
		r := storedRoutes{rev: before[i].rev, Registry: registry, Part: p.name(), Routes: s.table.text, Complete: complete}
		if !complete {
			r.Former = before[i].inForce()
		}
		if err := r.write(ctx, p.engine); err != nil {
			return nil, fmt.Errorf("part %q: %w", p.name(), err)
		}
		r.rev++
		written[i] = r
	}
	return written, nil
}

// restoreTimeout is how long restore tries, whatever the caller's context.
const restoreTimeout = 10 * time.Second

// restore restores the former routes, so that the processes that use them go on.
func (s *Store) restore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	records, err := s.storedRoutes(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i, r := range records {
		engine := s.parts[i].engine
		switch {
		case r.rev == 0 || r.Routes != s.table.text || r.Complete: // it is not this change
		case r.Former == "":
			errs = append(errs, r.remove(ctx, engine))
		default:
			r.Routes, r.Complete, r.Former = r.Former, true, ""
			errs = append(errs, r.write(ctx, engine))
		}
	}
	return errors.Join(errs...)
}
