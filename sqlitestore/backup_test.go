package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
)

// A backup under load has all names from before it began, and no half commits, whether its own
// store writes or another one.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"this store", "another store"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "names.db")
			store := openTest(t, file, Config{})
			writes := store
			if who == "another store" {
				writes = openTest(t, file, Config{})
			}
			testBackupUnderLoad(t, store, writes)
		})
	}
}

func testBackupUnderLoad(t *testing.T, store, writes *Store) {
	t.Helper()
	registry, err := core.Open(writes, dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	claim := func(i int) dibs.Command {
		return dibs.Claim{Namespace: "slug", Value: fmt.Sprint("name-", i), Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(i)}}
	}
	const before, together = 500, 25
	for first := 0; first < before; first += together {
		var claims []dibs.Command
		for i := range together {
			claims = append(claims, claim(first+i))
		}
		if _, err := registry.Apply(t.Context(), claims...); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := before + w; ; i += 4 {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := registry.Apply(context.Background(), claim(i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	path := filepath.Join(t.TempDir(), "backup.db")
	err = store.Backup(t.Context(), path)
	close(stop)
	writers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	checkBackup(t, path, before)
}

// checkBackup opens a backup as a registry, and checks names and their entities.
func checkBackup(t *testing.T, path string, least int) {
	t.Helper()
	registry, err := core.Open(openTest(t, path, Config{}), dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	query := dibs.NamesQuery{Namespace: "slug", Limit: 1000}
	for {
		page, err := registry.List(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range page.Names {
			names++
			info, err := registry.Entity(t.Context(), "", name.Entity)
			if err != nil || len(info.Names) != 1 || info.Names[0].Canonical != name.Canonical {
				t.Fatalf("%s has the entity %v, which has %v, %v", name.Canonical, name.Entity, info.Names, err)
			}
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			break
		}
	}
	page, err := registry.Events(t.Context(), dibs.FeedQuery{Limit: 1000})
	if err != nil || names < least || len(page.Events) < min(names, 1000) {
		t.Errorf("%d names, %d events, %v", names, len(page.Events), err)
	}
}

// The copy has every change that was made between and during turns, also after the WAL has started
// over; and it does start over.
func TestCopyInTurns(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newTest(t)
	made := 0
	write := func() {
		t.Helper()
		var groups []dibs.Group
		for range 200 {
			groups = append(groups, insertGroup(heldName(numbered(made))))
			made++
		}
		mustCommit(t, s, groups...)
	}
	write()
	path := filepath.Join(t.TempDir(), "copy.db")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := newCopier(s, out)
	defer c.close()
	if err := c.open(ctx); err != nil {
		t.Fatal(err)
	}
	starts := make(map[[8]byte]bool)
	for turn := range 10 {
		if err := c.nextTurn(ctx); err != nil {
			t.Fatal(err)
		}
		starts[c.seen.salt] = true
		write()
		if turn < 8 && turn != 4 {
			last := min(c.copied+c.pages/8, c.pages)
			if err := c.copyPages(ctx, c.reader, c.copied+1, last); err != nil {
				t.Fatal(err)
			}
			c.copied = last
		}
		write()
	}
	if err := c.locked(ctx, c.finish); err != nil {
		t.Fatal(err)
	}
	if len(starts) < 5 {
		t.Errorf("the WAL started over %d times", len(starts))
	}
	restored := openTest(t, path, Config{})
	if state := pragma(t, restored, "integrity_check"); state != "ok" {
		t.Error(state)
	}
	if stats, err := restored.Count(ctx, 0); err != nil || len(stats.Names) != 1 || stats.Names[0].Count != made {
		t.Errorf("%+v, %v, want %d names", stats, err, made)
	}
}

func TestBackupKeepsExistingFiles(t *testing.T) {
	t.Parallel()
	store, folder := newTest(t), t.TempDir()
	path := filepath.Join(folder, "precious")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.Backup(t.Context(), path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want fs.ErrExist", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "precious" {
		t.Errorf("the file contains %q, %v", text, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.Backup(cancelled, filepath.Join(folder, "new.db")); err == nil {
		t.Error("it was written after its context had ended")
	}
	if err := store.Backup(t.Context(), filepath.Join(folder, "missing", "new.db")); err == nil {
		t.Error("it was written in a missing folder")
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
