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

// change puts the routes on record, if nothing is lost by that. Others that do the same at
// the same time make it fail with errRaced.
func (s *Store) change(ctx context.Context, cfg Config, before []record) error {
	if err := s.mayReplace(before); err != nil {
		return err
	}
	empty, err := s.verify(ctx)
	if err != nil {
		return err
	}
	fresh := !slices.ContainsFunc(before, func(r record) bool { return r.rev > 0 })
	if fresh && empty {
		return s.replace(ctx, before, func() error { return nil })
	}
	if cfg.Keep {
		return s.differs(before)
	}
	cfg.Logger.Info("routestore: the routes are changed; waiting until nobody works by the former ones", "routes", s.table.text, "wait", cfg.settle)
	// Others stop once the new routes are on record. What they have done until then is looked
	// at again.
	return s.replace(ctx, before, func() error {
		if err := backoff.Sleep(ctx, cfg.settle); err != nil {
			return err
		}
		_, err := s.verify(ctx)
		return err
	})
}

// mayReplace says why the routes must not take the place of those on record.
func (s *Store) mayReplace(before []record) error {
	for i, r := range before {
		if r.rev == 0 {
			continue
		}
		if name := s.table.names[i]; r.Part != name {
			return errMistaken(r.Part, name)
		}
		former, err := parse(r.inForce())
		if err != nil {
			return err
		}
		if err := s.table.mayFollow(former); err != nil {
			return err
		}
		for j, other := range before {
			if name := s.table.names[j]; other.rev == 0 && len(former[name]) > 0 {
				return errReplaced(name)
			}
		}
	}
	return nil
}

// differs says that the routes on record are others, and who can change them.
func (s *Store) differs(before []record) error {
	for i, r := range before {
		if r.rev > 0 && r.Routes != s.table.text {
			return fmt.Errorf("routestore: the routes on record in %q are %s, and these are %s: use the configuration of the servers; "+
				"to change the routes, start the servers with the new ones first", s.table.names[i], r.Routes, s.table.text)
		}
	}
	return errors.New("routestore: these routes are not on record yet: start the servers with them first")
}

// replace puts the routes on record, and says that they are settled once settle returns. If
// that fails, everything is as before.
func (s *Store) replace(ctx context.Context, before []record, settle func() error) error {
	written, err := s.put(ctx, before, false)
	if err == nil {
		err = settle()
	}
	if err == nil {
		_, err = s.put(ctx, written, true)
		return err
	}
	if errors.Is(err, errRaced) {
		return err
	}
	return errors.Join(err, s.putBack(ctx))
}

// put writes the routes into all parts, in the place of what was read before, and returns
// what is on record then.
func (s *Store) put(ctx context.Context, before []record, settled bool) ([]record, error) {
	registry, err := s.table.oneRegistry(before)
	if err != nil {
		return nil, err
	}
	registry = cmp.Or(registry, rand.Text())
	written := make([]record, len(s.parts))
	for i, p := range s.parts {
		r := record{rev: before[i].rev, Registry: registry, Part: p.name(), Routes: s.table.text, Settled: settled}
		if !settled {
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

// putBackTime is how long to try, also if the caller has gone.
const putBackTime = 10 * time.Second

// putBack restores what was on record, so that those who work by it go on.
func (s *Store) putBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), putBackTime)
	defer cancel()
	records, err := s.records(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i, r := range records {
		engine := s.parts[i].engine
		switch {
		case r.rev == 0 || r.Routes != s.table.text || r.Settled: // it is not this change
		case r.Former == "":
			errs = append(errs, r.remove(ctx, engine))
		default:
			r.Routes, r.Settled, r.Former = r.Former, true, ""
			errs = append(errs, r.write(ctx, engine))
		}
	}
	return errors.Join(errs...)
}
