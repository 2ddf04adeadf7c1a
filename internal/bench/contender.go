//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// contender is an implementation that is measured: Dibs, or a plain table. It is safe for
// concurrent use.
type contender interface {
	// reserve reports whether the name was free.
	reserve(name string) (won bool, err error)
	// close also removes the stored data.
	close()
}

// confirmer is a contender that can also confirm names.
type confirmer interface {
	contender
	// pair reserves a free name and confirms it.
	pair(name string) error
}

var (
	_ confirmer = (*registry)(nil)
	_ confirmer = (*plainTable)(nil)
	_ confirmer = (*handTable)(nil)
	_ confirmer = (*bulkTable)(nil)
)

var errTaken = errors.New("a new name is taken")

// reserveFree returns a function that reserves names that must be free.
func reserveFree(c contender) func(name string) error {
	return func(name string) error {
		won, err := c.reserve(name)
		if err == nil && !won {
			err = errTaken
		}
		return err
	}
}

const namespace = "slug"

// registry is Dibs, embedded in a program.
type registry struct {
	*dibs.Registry
	where  string // a DSN or a path
	l      *lab
	remove func()
	engine func() []int // its processes; nil if it has none
}

func (r *registry) processes() []int {
	if r.engine == nil {
		return nil
	}
	return r.engine()
}

func dibsOnPostgres(l *lab) contender { return openOnPostgres(l, dibs.Config{}) }

func openOnPostgres(l *lab, cfg dibs.Config) *registry {
	l.Helper()
	dsn, drop := l.newDatabase()
	l.must(pgstore.Migrate(l.Context(), dsn, pgstore.Config{})) // without the delay: it has many statements
	store, err := pgstore.Open(l.Context(), l.delayed(dsn), pgstore.Config{})
	l.must(err)
	r := openRegistry(l, store, cfg, dsn, drop)
	r.engine = l.cluster.Processes
	return r
}

func dibsOnSQLite(l *lab) contender {
	l.Helper()
	path := filepath.Join(l.TempDir(), "names.db")
	store, err := sqlitestore.Open(l.Context(), path, sqlitestore.Config{})
	l.must(err)
	return openRegistry(l, store, dibs.Config{}, path, func() { l.must(os.RemoveAll(filepath.Dir(path))) })
}

func openRegistry(l *lab, store dibs.Store, cfg dibs.Config, where string, remove func()) *registry {
	l.Helper()
	reg, err := core.Open(store, cfg)
	l.must(err)
	return &registry{Registry: reg, where: where, l: l, remove: remove}
}

func (r *registry) reserve(name string) (bool, error) {
	_, err := r.Reserve(context.Background(), dibs.Reserve{Namespace: namespace, Value: name})
	if errors.Is(err, dibs.ErrNameTaken) {
		return false, nil
	}
	return err == nil, err
}

func (r *registry) pair(name string) error {
	hold, err := r.Reserve(context.Background(), dibs.Reserve{Namespace: namespace, Value: name})
	if err != nil {
		return fmt.Errorf("reserve: %w", err)
	}
	owner := dibs.Entity{Type: "tenant", ID: name}
	if _, err := r.Confirm(context.Background(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: owner}); err != nil {
		return fmt.Errorf("confirm: %w", err)
	}
	return nil
}

func (r *registry) close() {
	r.l.Helper()
	r.l.must(r.Close())
	r.remove()
}
