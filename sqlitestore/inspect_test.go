package sqlitestore_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// A process was killed, and the disk has lost pages: the WAL has the last commits. A refused Open and an
// inspection leave file and WAL as they were found, for whatever a person can recover from them.
func TestDamagedFileKeepsItsWAL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	if err := os.WriteFile(path, makeSound(t), 0o600); err != nil {
		t.Fatal(err)
	}
	reg := openDamaged(t, path)
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "acme.slug", Value: "last", Entity: dibs.Entity{Type: "user", ID: "last"}}); err != nil {
		t.Fatal(err)
	}
	found := make(map[string][]byte)
	for _, suffix := range []string{"", "-wal"} {
		file, err := os.ReadFile(path + suffix)
		if err != nil || len(file) == 0 {
			t.Fatal(suffix, len(file), err)
		}
		found[suffix] = file
	}
	if err := reg.Close(); err != nil {
		t.Fatal(err)
	}
	for page := range slices.Chunk(found[""], 2048) {
		if bytes.Contains(page, []byte("name-0")) && !bytes.Contains(page, []byte("CREATE")) {
			clear(page)
		}
	}
	for _, inspect := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "names.db")
		for suffix, file := range found {
			if err := os.WriteFile(path+suffix, file, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Config{Inspect: inspect})
		if inspect {
			if err != nil {
				t.Fatal(err)
			}
			if view, err := store.Snapshot(t.Context()); err == nil {
				_ = view.Close()
			}
			err = store.Close()
		} else if errors.Is(err, sqlitestore.ErrDamaged) {
			err = nil
		}
		if err != nil {
			t.Errorf("inspect %v: %v", inspect, err)
		}
		for suffix, want := range found {
			if got, err := os.ReadFile(path + suffix); err != nil || !bytes.Equal(got, want) {
				t.Errorf("inspect %v: names.db%s has changed: %d bytes, %v", inspect, suffix, len(got), err)
			}
		}
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
