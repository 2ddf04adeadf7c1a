package sqlitestore_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/sqlitestore"
)

func openToInspect(t *testing.T, path string) *sqlitestore.Store {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Config{Inspect: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// A store for inspection refuses to write, and leaves the file as it is.
func TestInspectWritesNothing(t *testing.T) {
	t.Parallel()
	sound := makeSound(t)
	path := filepath.Join(t.TempDir(), "names.db")
	if err := os.WriteFile(path, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	store := openToInspect(t, path)
	reg, err := core.Open(store, dibs.Config{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = reg.Claim(t.Context(), dibs.Claim{Namespace: "acme.slug", Value: "new", Entity: damagedEntity(1)})
	if e, ok := errors.AsType[*dibs.Error](err); !ok || e.Code != dibs.CodeUnavailable || e.Cause != dibs.CauseReadOnly {
		t.Errorf("a claim: %v", err)
	}
	if _, err := reg.Get(t.Context(), dibs.Lookup{Namespace: "acme.slug", Value: damagedName(3)}); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := reg.Close(); err != nil {
		t.Error(err)
	}
	if file, err := os.ReadFile(path); err != nil || !bytes.Equal(file, sound) {
		t.Errorf("the file has changed: %v", err)
	}

	missing := filepath.Join(t.TempDir(), "missing.db")
	if _, err := sqlitestore.Open(t.Context(), missing, sqlitestore.Config{Inspect: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file was created: %v", err)
	}
}

// A view of a damaged file shows all rows and events. Those that are damaged come with an error that
// matches ErrDamaged, which ends every reader that does not ask for more.
func TestViewGoesOnAfterDamage(t *testing.T) {
	t.Parallel()
	sound := makeSound(t)
	damaged := bytes.ReplaceAll(sound, []byte(`{"order":"17"}`), []byte(`{"order":"16"}`)) // of names, not of events
	path := filepath.Join(t.TempDir(), "names.db")
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	view, err := openToInspect(t, path).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	all, broken := 0, 0
	for record, err := range view.Records(context.Background(), snapshot.Names) {
		if all++; err == nil {
			continue
		}
		broken++
		damage, ok := errors.AsType[*snapshot.DamageError](err)
		e, _ := errors.AsType[*dibs.Error](err)
		if !ok || damage.Row == "" || !errors.Is(err, sqlitestore.ErrDamaged) || e == nil || e.Cause != dibs.CauseDamaged {
			t.Errorf("an error of a row: %v", err)
		}
		if n, ok := record.(*dibs.NameRecord); !ok || n.Meta["order"] != "16" {
			t.Errorf("it comes with %v", record)
		}
	}
	if want := damagedNames + damagedNames/5; all != want || broken != damagedNames/5 {
		t.Errorf("%d of %d rows are damaged, not %d of %d", broken, all, damagedNames/5, want)
	}
}
