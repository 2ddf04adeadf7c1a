package engine_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// killed copies the files of an open store, as a killed process leaves them, and returns the new path.
func killed(t *testing.T) string {
	t.Helper()
	from, to := filepath.Join(t.TempDir(), "names.db"), filepath.Join(t.TempDir(), "names.db")
	store, err := engine.Open(t.Context(), "sqlite:"+from)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := embedded.Open(store, dibs.Config{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = registry.Close() }()
	if _, err := registry.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "old", Entity: dibs.Entity{Type: "user", ID: "1"}}); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(from + suffix)
		if err == nil {
			err = os.WriteFile(to+suffix, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// A check leaves file and WAL as it found them, whether it will find damage or not.
func TestCheckLeavesTheWAL(t *testing.T) {
	t.Parallel()
	path := killed(t)
	content := func() (all []string) {
		for _, suffix := range []string{"", "-wal"} {
			file, err := os.ReadFile(path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(file))
		}
		return all
	}
	before := content()
	store, err := engine.OpenLayout(t.Context(), engine.Layout{Store: "sqlite:" + path, Keep: true, Damaged: true})
	if err != nil {
		t.Fatal(err)
	}
	found, err := store.Load(t.Context(), []dibs.Ref{{Kind: dibs.KindName, ID: dibs.NameID("slug", "old")}})
	if err != nil || len(found.Records) != 1 {
		t.Errorf("the last commit before the kill: %v, %v", found.Records, err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	if after := content(); !slices.Equal(after, before) {
		t.Error("the files have changed")
	}
}

// An import is not begun beside the log of an earlier file, which would be written over it.
func TestFillBesideAnOldLog(t *testing.T) {
	t.Parallel()
	path := killed(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	fill := engine.Layout{Store: "sqlite:" + path, Keep: true, Fill: func(func()) {}}
	if _, err := engine.OpenLayout(t.Context(), fill); !errors.Is(err, sqlitestore.ErrOldWAL) || !strings.Contains(err.Error(), path+"-wal") {
		t.Errorf("it is begun: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was created: %v", err)
	}
}
