package routestore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/record"
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
	// Move moves the names of scopes that the routes give to another part. All other processes
	// stop, and Open returns when everything is there. If it fails after it has begun to move, run
	// it again: processes with the former routes are refused from then on. Every engine must show
	// snapshots, as those of this module do.
	Move bool
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
	s := &Store{table: t}
	for i, route := range cfg.Routes {
		if route.Store == nil {
			return nil, fmt.Errorf("routestore: the route %q has no Store: set it", route.Name)
		}
		s.parts = append(s.parts, newPart(t, i, route.Store))
	}
	if err := s.agree(ctx, cfg); err != nil {
		return nil, err
	}
	for _, p := range s.parts {
		if err := p.lease.renew(ctx); err != nil {
			return nil, err
		}
	}
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	for _, p := range s.parts {
		log := cfg.Logger
		if len(s.parts) > 1 {
			log = log.With("part", p.name())
		}
		s.working.Go(func() { p.lease.keep(background, log) })
	}
	return s, nil
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
		agreed, underWay := true, false
		for i, r := range records {
			agreed = agreed && s.table.agrees(r, i) == nil
			underWay = underWay || (r.Part == s.table.names[i] && r.Routes == s.table.text && !r.Complete)
		}
		if agreed {
			return nil
		}
		if !slices.Equal(records, waiting) {
			waiting, since = records, time.Now()
		}
		// Wait for another process that is changing the routes, but not longer than patience.
		if !underWay || time.Since(since) > patience {
			switch err := s.change(ctx, cfg, records); {
			case err == nil:
				began = time.Now() // a move may take long
			case !errors.Is(err, errRaced):
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
	return ofEach(s.parts, func(p *part) (storedRoutes, error) { return readRoutes(ctx, p.engine) })
}

// change replaces the stored routes, unless a name would be lost. If another process changes them
// at the same time, it fails with errRaced.
func (s *Store) change(ctx context.Context, cfg Config, before []storedRoutes) error {
	if err := s.checkReplace(before); err != nil {
		return err
	}
	empty, err := s.checkNamespaces(ctx)
	if err != nil && (!cfg.Move || !errors.Is(err, errOtherPart)) {
		return err
	}
	isNew := !slices.ContainsFunc(before, func(r storedRoutes) bool { return r.rev > 0 })
	if isNew && empty && err == nil {
		return s.replace(ctx, before, func(written []storedRoutes) ([]storedRoutes, error) { return written, nil })
	}
	if cfg.Keep {
		return s.errDiffers(before)
	}
	cfg.Logger.Info("routestore: changing the routes; waiting until no process uses the former ones", "routes", s.table.text, "wait", cfg.wait)
	// Other processes stop once they see the new routes. Then their last changes are checked.
	return s.replace(ctx, before, func(written []storedRoutes) ([]storedRoutes, error) {
		if err := backoff.Sleep(ctx, cfg.wait); err != nil {
			return nil, err
		}
		if cfg.Move {
			return s.moveScopes(ctx, written, cfg.Logger)
		}
		_, err := s.checkNamespaces(ctx)
		return written, err
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

// replace stores the routes, and marks them as complete once wait returns, with the records as it
// has left them. If that fails, it restores the former ones.
func (s *Store) replace(ctx context.Context, before []storedRoutes, wait func(written []storedRoutes) ([]storedRoutes, error)) error {
	written, err := s.put(ctx, before, false)
	if err == nil {
		written, err = wait(written)
	}
	if err == nil {
		_, err = s.put(ctx, written, true)
		return err
	}
	if errors.Is(err, errRaced) || errors.Is(err, errMoving) {
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
		if r.rev == 0 || r.Routes != s.table.text || r.Complete || r.Former == s.table.text {
			continue // it is not this change, or one that cannot be taken back, see moveScopes
		}
		r.Routes, r.Complete, r.Former = r.Former, true, ""
		errs = append(errs, r.write(ctx, s.parts[i].engine))
	}
	return errors.Join(errs...)
}

const checkPage = 500

// checkNamespaces checks that the routes give all namespaces of a part to that part, and reports
// whether all parts are empty.
func (s *Store) checkNamespaces(ctx context.Context) (empty bool, err error) {
	counts, err := ofEach(s.parts, func(p *part) (count int, err error) {
		err = p.eachNamespace(ctx, func(namespace string) error {
			count++
			return s.table.checkPart(p.index, namespace)
		})
		return count, err
	})
	return slices.Max(counts) == 0, err
}

// errOtherPart is the error of a namespace in the wrong part. It is a part of the sentence.
var errOtherPart = errors.New("is in the part")

// checkPart checks that a namespace belongs to a part.
func (t *table) checkPart(part int, namespace string) error {
	scope := dibs.ScopeOf(namespace)
	home := t.partOf(scope)
	if home == part {
		return nil
	}
	return fmt.Errorf("routestore: %s %w %q, but the routes give its scope to %q, where its names would be free: "+
		"give the scope %q to %q, or move it (dibs move-scopes)", namespace, errOtherPart, t.names[part], t.names[home], scope, t.names[part])
}

// eachNamespace calls fn with every namespace that has, or ever had, names in the part.
func (p *part) eachNamespace(ctx context.Context, fn func(namespace string) error) error {
	// Every namespace with names has a namespace record. To be safe, this also reads one name of
	// each namespace.
	for _, query := range []dibs.ListQuery{{Kind: dibs.KindNamespace, Limit: checkPage}, {Kind: dibs.KindName, Limit: 1}} {
		for more := true; more; {
			page, err := p.engine.List(ctx, query)
			if err != nil {
				return err
			}
			for _, r := range page {
				after := record.Position(r)
				namespace := after.Label
				if query.Kind == dibs.KindName {
					namespace = after.Namespace
					after = dibs.ListPosition{Namespace: namespace + " "} // a space sorts before all characters of a longer namespace
				}
				if err := fn(namespace); err != nil {
					return err
				}
				query.After = &after
			}
			more = len(page) == query.Limit
		}
	}
	return nil
}
