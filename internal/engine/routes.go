package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/copier"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/routestore"
	"github.com/calldibs/dibs/sqlitestore"
)

// DefaultStore is the name of the store for all scopes without a route.
const DefaultStore = "default"

// Route gives scopes to a store; see [routestore.Route].
type Route struct {
	Name   string
	Scopes []string
	Store  string // the address
}

// Layout says where names are: scopes by routes, and all others in Store.
type Layout struct {
	Store  string // the address
	Routes []Route
	// Keep refuses to change the stored routes; see [routestore.Config].
	Keep bool
	// Move moves scopes to the stores that the routes give them to; see [routestore.Config].
	Move bool
	// Incomplete opens also a store that is being filled from an archive.
	Incomplete bool
	// Damaged opens also a damaged file. Any file is opened only to look at it, and is left as it was
	// found, with its WAL; see [sqlitestore.Config].
	Damaged bool
	// Fill, if set, is for an import into Store. If that is a new SQLite file, it appears when the
	// store closes, and only after a call of publish; see [sqlitestore.Create]. Without routes only.
	Fill   func(publish func())
	Logger *slog.Logger // nil means none
	// Watch, if set, gets each open store, and returns the store to use instead. The name is
	// empty without routes.
	Watch func(name string, store dibs.Store) dibs.Store
}

// OpenLayout opens all stores of a layout as one. It opens a single store in the same way, and
// refuses one that is a part of several. The store stops when its scopes are given to others.
func OpenLayout(ctx context.Context, layout Layout) (dibs.Store, error) {
	routes := layout.routes()
	stores, errs := make([]dibs.Store, len(routes)), make([]error, len(routes))
	var opening sync.WaitGroup
	for i, route := range routes {
		opening.Go(func() {
			if stores[i], errs[i] = layout.open(ctx, route.Store); errs[i] != nil && len(routes) > 1 {
				errs[i] = fmt.Errorf("store %q: %w", route.Name, errs[i])
			}
		})
	}
	opening.Wait()
	err := errors.Join(errs...)
	if err == nil {
		cfg := routestore.Config{Keep: layout.Keep, Move: layout.Move, Logger: layout.Logger}
		for i, route := range routes {
			if layout.Watch != nil {
				name := route.Name
				if len(routes) == 1 {
					name = ""
				}
				stores[i] = layout.Watch(name, stores[i])
			}
			cfg.Routes = append(cfg.Routes, routestore.Route{Name: route.Name, Scopes: route.Scopes, Store: stores[i]})
		}
		var store *routestore.Store
		if store, err = routestore.Open(ctx, cfg); err == nil {
			if err = layout.checkComplete(ctx, store); err != nil && !layout.ignores(err) {
				return nil, errors.Join(err, store.Close())
			}
			return store, nil
		}
		if layout.ignores(err) && len(routes) == 1 {
			return stores[0], nil
		}
		if len(layout.Routes) == 0 {
			err = fmt.Errorf("%w; this store is one of several: use the configuration with its routes (--config)", err)
		}
	}
	for _, store := range stores {
		if store != nil {
			err = errors.Join(err, store.Close())
		}
	}
	return nil, err
}

// open opens one of the stores.
func (l Layout) open(ctx context.Context, address string) (dibs.Store, error) {
	if l.Fill != nil && len(l.Routes) == 0 {
		store, err := create(ctx, address)
		if err == nil {
			l.Fill(store.Publish)
			return store, nil
		}
		if errors.Is(err, sqlitestore.ErrOldWAL) {
			return nil, err
		} // else Open says what is wrong, or nothing is
	}
	path, isFile := strings.CutPrefix(address, "sqlite:")
	if !isFile || !l.Damaged {
		return openWhole(ctx, address)
	}
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Config{Inspect: true})
	if err != nil {
		return openWhole(ctx, address) // a file of an earlier version is migrated first
	}
	if err := mustBeWhole(ctx, address, store); err != nil && !l.ignores(err) {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// ignores reports whether an error only says that a file is damaged, and that is no reason not to open it.
func (l Layout) ignores(err error) bool {
	e, ok := errors.AsType[*dibs.Error](err)
	return l.Damaged && (errors.Is(err, sqlitestore.ErrDamaged) || ok && e.Cause == dibs.CauseDamaged)
}

// openWhole opens a store, and refuses one that is not completely copied yet.
func openWhole(ctx context.Context, address string) (dibs.Store, error) {
	store, err := Open(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := mustBeWhole(ctx, address, store); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

func mustBeWhole(ctx context.Context, address string, store dibs.Store) error {
	from, err := copier.Unfinished(ctx, store)
	if err == nil && from != "" {
		err = fmt.Errorf("%s is an unfinished copy of %s: run dibs copy again until it succeeds", Redacted(address), from)
	}
	return err
}

// ErrIncomplete is the error for a store that has a part of an archive.
var ErrIncomplete = errors.New("the store is not complete: it is being filled from an archive; run the same dibs load again, until it is done")

func (l Layout) checkComplete(ctx context.Context, store dibs.Partitioned) error {
	if l.Incomplete {
		return nil
	}
	for _, part := range store.Parts() {
		if loading, err := snapshot.IsLoading(ctx, part.Store); err != nil || loading {
			return cmp.Or(err, ErrIncomplete)
		}
	}
	return nil
}

// routes returns the routes and that of the default store.
func (l Layout) routes() []Route {
	others := Route{Name: DefaultStore, Scopes: []string{routestore.Everything}, Store: l.Store}
	return append([]Route{others}, l.Routes...)
}

// Addresses returns the addresses of all stores.
func (l Layout) Addresses() (addresses []string) {
	for _, route := range l.routes() {
		addresses = append(addresses, route.Store)
	}
	return addresses
}

// OpenDefaultStore opens the store for what has no scope, such as API keys. It may be one of several
// stores, but must be the default one.
func OpenDefaultStore(ctx context.Context, address string) (dibs.Store, error) {
	store, err := openWhole(ctx, address)
	if err != nil {
		return nil, err
	}
	name, err := routestore.PartName(ctx, store)
	if err == nil && name != "" && name != DefaultStore {
		err = fmt.Errorf("this store is the part %q of several: use the one without a route, which is store in the configuration", name)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}
