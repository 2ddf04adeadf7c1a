package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/calldibs/dibs/dashboard"
)

// What is committed is what the sources say.
func TestTheBundleIsFresh(t *testing.T) {
	t.Parallel()
	fresh, err := bundle("..")
	if err != nil {
		t.Fatal(err)
	}
	committed := files(t)
	for name, want := range fresh {
		got, found := committed[name]
		switch {
		case !found:
			t.Errorf("%s is missing: run go generate ./dashboard", name)
		case !bytes.Equal(unpacked(t, name, got), unpacked(t, name, want)): // other versions of Go may compress differently
			t.Errorf("%s is stale: run go generate ./dashboard", name)
		}
		delete(committed, name)
	}
	for name := range committed {
		t.Errorf("%s is left over: run go generate ./dashboard", name)
	}
}

// A broken source is an error, and no empty bundle.
func TestABrokenSourceIsAnError(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{"main.tsx": "import { x } from './missing'; x(", "index.html": "<!doctype html>", "icon.svg": "<svg/>"} {
		if err := os.MkdirAll(path.Join(root, "src"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path.Join(root, "src", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := bundle(root); err == nil || !strings.Contains(err.Error(), "main.tsx") {
		t.Errorf("it is %v with %d files", err, len(files))
	}
}

// The first page is small: everything that a browser loads for it, as it is sent.
func TestTheFirstPageIsSmall(t *testing.T) {
	t.Parallel()
	const limit = 150 << 10
	all, sum := files(t), 0
	for name, content := range all {
		if _, compressed := all[name+".gz"]; !compressed {
			sum += len(content)
		}
	}
	if sum > limit || sum < 10<<10 {
		t.Errorf("it has %d bytes, want at most %d", sum, limit)
	}
}

// The page names files that are there, and has no script or style of its own: the server's policy forbids both.
func TestThePageHasWhatItNames(t *testing.T) {
	t.Parallel()
	all := files(t)
	page := string(all["index.html"])
	named := regexp.MustCompile(`(?:src|href)="/(assets/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(named) != 3 {
		t.Errorf("the page names %d files: %s", len(named), page)
	}
	for _, match := range named {
		if _, found := all[match[1]]; !found {
			t.Errorf("there is no %s", match[1])
		}
	}
	if inline := regexp.MustCompile(`<style|style=|<script>|onload=`).FindString(page); inline != "" {
		t.Errorf("the page has %s", inline)
	}
}

// The copies of libraries have the versions by whose types the sources are checked.
func TestLibrariesHaveTheVersionsOfTheirTypes(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("../third_party/README.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `\\w+` \\| `([^`]+)` \\| ([0-9.]+) \\|").FindAllStringSubmatch(string(table), -1)
	if len(rows) < 4 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		if want := lock.Packages["node_modules/"+row[1]].Version; row[2] != want {
			t.Errorf("third_party has %s %s, package-lock.json %s", row[1], row[2], want)
		}
	}
}

// files returns what is committed, and embedded.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	err := fs.WalkDir(dashboard.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		all[name], err = fs.ReadFile(dashboard.Files(), name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unpacked returns the content of a file, decompressed if it is compressed.
func unpacked(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	if !strings.HasSuffix(name, ".gz") {
		return content
	}
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
