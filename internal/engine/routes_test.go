package engine_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/sqlitestore"
)

// TestDamagedLayout checks that a damaged file, alone or one of several, is opened only for looking at it.
func TestDamagedLayout(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	alone := engine.Layout{Store: "sqlite:" + filepath.Join(folder, "alone.db"), Keep: true}
	several := engine.Layout{
		Store:  "sqlite:" + filepath.Join(folder, "default.db"),
		Routes: []engine.Route{{Name: "acme", Scopes: []string{"acme"}, Store: "sqlite:" + filepath.Join(folder, "acme.db")}},
	}
	for damaged, layout := range map[string]engine.Layout{"alone.db": alone, "acme.db": several} {
		store, err := engine.OpenLayout(t.Context(), layout)
		if err != nil {
			t.Fatal(err)
		}
		registry, err := embedded.Open(store, dibs.Config{SweepEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := registry.Claim(t.Context(), dibs.Claim{Namespace: "acme.slug", Value: "ann", Entity: dibs.Entity{Type: "user", ID: "1"}}); err != nil {
			t.Fatal(err)
		}
		if err := registry.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", filepath.Join(folder, damaged))
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(), "PRAGMA ignore_check_constraints = 1; UPDATE dibs_names SET status = 'reserved'; UPDATE dibs_documents SET rev = rev + 1 WHERE kind <> 'routes'")
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.OpenLayout(t.Context(), layout); !errors.Is(err, sqlitestore.ErrDamaged) {
			t.Errorf("%s for serving: %v", damaged, err)
		}
		layout.Damaged = true
		store, err = engine.OpenLayout(t.Context(), layout)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}
