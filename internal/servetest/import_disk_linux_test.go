package servetest_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
)

// A full disk stops an import, with the rows at which it did. When there is room, another run ends
// in the state of an import that was not stopped.
func TestImportOnFullDisk(t *testing.T) {
	t.Parallel()
	notRaced(t)
	disk := smallDisk(t, "3m")
	const rows = 4200
	free := "sqlite:" + t.TempDir() + "/names.db"
	newImport(t, free, rows, "--on-conflict", "suffix").mustEnd()

	store := "sqlite:" + disk + "/names.db"
	i := newImport(t, store, rows, "--on-conflict", "suffix")
	p := i.start()
	if code := p.wait(t); code != cli.ExitUnavailable {
		t.Errorf("the import ends with %d", code)
	}
	for _, want := range []string{"disk full", "line ", "run the command again to go on"} {
		if !strings.Contains(p.stderr.String(), want) {
			t.Errorf("the import says %q, want %q", p.stderr.String(), want)
		}
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	i.mustEnd()
	mustHaveSame(t, watch(t, store).contents(), watch(t, free).contents())
}

// planRows is how many rows a plan cannot keep in memory.
const planRows = 60_000

// Imports keep rows in temporary files: those of a dry run, of stdin, and rows that come last. If
// there is no room for them, the message says so, and nothing is left there.
func TestImportWithFullTemporaryFolder(t *testing.T) {
	t.Parallel()
	notRaced(t)
	for name, c := range map[string]struct {
		file string
		args []string
	}{
		"dry run": {importFile(planRows), []string{"users.csv", "--dry-run"}},
		"plan":    {importFile(planRows), []string{"users.csv", "--on-conflict", "skip"}},
		"aliases": {manyAliases(), []string{"users.csv", "--on-conflict", "first"}},
		"stdin":   {importFile(4200), []string{"-", "--format", "csv", "--on-conflict", "first"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk, dir := smallDisk(t, "1m"), t.TempDir()
			size := len(c.file)
			if name == "stdin" {
				writeFile(t, disk, "ballast", strings.Repeat("x", 1<<20-size/2))
			}
			writeFile(t, dir, "users.csv", c.file)
			store := "sqlite:" + dir + "/names.db"
			args := append([]string{"import", "--namespace", "username", "--entity-type", "user", "--store", store}, c.args...)
			p := startWith(t, dir, []string{"TMPDIR=" + disk}, strings.NewReader(c.file), args...)
			if code := p.wait(t); code == cli.ExitOK || code == cli.ExitTaken {
				t.Errorf("the import ends with %d", code)
			}
			if said := p.stderr.String(); !strings.Contains(said, disk) || !strings.Contains(said, "TMPDIR") {
				t.Errorf("the import says %q, which does not name %s and TMPDIR", said, disk)
			}
			left := leftIn(t, disk)
			if name == "stdin" {
				left = left[1:]
			}
			if len(left) > 0 {
				t.Errorf("%s is left in the temporary folder", left)
			}
			if name == "aliases" {
				return // the names before them are imported
			}
			if n := watch(t, store).read(); n != 0 {
				t.Errorf("%d events are in the store", n)
			}
		})
	}
}

// manyAliases returns a CSV with more old names than the small disk has room for.
func manyAliases() string {
	var csv strings.Builder
	csv.WriteString("id,username,alias_of\n0,user-0,\n")
	for i := range 10_000 {
		fmt.Fprintf(&csv, "0,old-user-%d,user-0\n", i)
	}
	return csv.String()
}
