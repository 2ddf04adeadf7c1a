package verify_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/verify"
	"github.com/calldibs/dibs/sqlitestore"
)

// The flags of pages of an SQLite file.
const (
	pageSize  = 2048
	tableLeaf = 0x0d
	indexLeaf = 0x0a
)

// flip changes the first letter of a text wherever it is in pages of a kind, and returns how often.
func flip(file []byte, kind byte, text string) (flips int) {
	for page := range slices.Chunk(file, pageSize) {
		if page[0] != kind {
			continue
		}
		for i := bytes.Index(page, []byte(text)); i >= 0; i = bytes.Index(page, []byte(text)) {
			page[i] ^= 1
			flips++
		}
	}
	return flips
}

// TestFlippedBytes damages files on disk in several places at once. One run names all of them, however
// large the file is: Open refuses a small one, unless it only looks at it.
func TestFlippedBytes(t *testing.T) {
	t.Parallel()
	for name, large := range map[string]bool{"small": false, "large": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "names.db")
			sound := lifeOnDisk(t, path, large)
			for _, c := range []struct {
				what  string
				kind  byte
				texts []string
				flips int
				found []string
			}{
				{"two names, their events and an entity", tableLeaf, []string{"Marked_One", "Marked_Two", `slug":"` + dibs.NameID("slug", "confirmed").String()}, 5, []string{
					"damaged username:marked_one", "damaged username:marked_one", "damaged username:marked_two", "damaged username:marked_two", "damaged user/carl",
				}},
				{"the name of a row, which its events have from there", tableLeaf, []string{"sluggiven-up"}, 1, []string{
					"damaged row ", "damaged event ", "damaged event ", "file the file", "file the file",
				}},
				{"an index", indexLeaf, []string{"slugpassed-on"}, 1, []string{"file the file", "file the file"}},
			} {
				file := bytes.Clone(sound)
				flips := 0
				for _, text := range c.texts {
					flips += flip(file, c.kind, text)
				}
				if flips != c.flips {
					t.Fatalf("%s: %d flips", c.what, flips)
				}
				if err := os.WriteFile(path, file, 0o600); err != nil {
					t.Fatal(err)
				}
				list, _ := inspect(t, path)
				found := slices.DeleteFunc(list, func(f string) bool {
					return !strings.HasPrefix(f, "damaged ") && !strings.HasPrefix(f, "file ")
				})
				if !sameFindings(found, c.found) {
					t.Errorf("%s: found\n%s\nwant\n%s", c.what, strings.Join(found, "\n"), strings.Join(c.found, "\n"))
				}
			}
		})
	}
}

// lifeOnDisk makes a sound file, and returns its bytes.
func lifeOnDisk(t *testing.T, path string, large bool) []byte {
	t.Helper()
	registry := open(t, openFile(t, path, sqlitestore.Config{}))
	live(t, registry)
	for _, value := range []string{"Marked_One", "Marked_Two"} { // not their canonical forms: these are also in indexes
		if _, err := registry.Claim(t.Context(), dibs.Claim{Namespace: "username", Value: value, Entity: user(strings.ToLower(value))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := registry.Close(); err != nil {
		t.Fatal(err)
	}
	statements := "VACUUM" // no former rows in free space
	if large {
		statements = `INSERT INTO dibs_documents (kind, id, rev, label, data)
			SELECT 'filler', CAST(printf('k%015d', key) AS BLOB), 1, key, zeroblob(4500) FROM json_each('[` + strings.Repeat("0,", 2000) + `0]'); VACUUM`
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if isLarge := len(file) > 8<<20; isLarge != large {
		t.Fatalf("the file has %d bytes", len(file))
	}
	return file
}

// TestDamagedKeys damages the keys of rows where one page of records ends and the next begins. No other
// row is left out.
func TestDamagedKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	file := lifeOnDisk(t, path, true)
	_, sound := inspect(t, path)
	flips := 0
	for i := range snapshot.PageSize {
		flips += flip(file, tableLeaf, fmt.Sprintf("k%015d", i)) // a page ends behind one of them
	}
	if flips != snapshot.PageSize {
		t.Fatalf("%d flips", flips)
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, report := inspect(t, path); report.Documents != sound.Documents || report.Findings == 0 {
		t.Errorf("got %+v, of the sound file %+v", report, sound)
	}
}

// inspect returns the findings about a file that may be damaged.
func inspect(t *testing.T, path string) ([]string, verify.Report) {
	t.Helper()
	store := openFile(t, path, sqlitestore.Config{Inspect: true})
	defer func() { _ = store.Close() }()
	view, err := snapshot.Take(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	return findings(t, view, verify.Options{})
}
