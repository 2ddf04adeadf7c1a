package servetest_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
)

// newFileImport returns an import into a SQLite file that is not there.
func newFileImport(t *testing.T, folder string, rows int) *importing {
	t.Helper()
	i := &importing{t, t.TempDir(), []string{
		"import", "users.csv", "--namespace", "username", "--entity-type", "user", "--on-conflict", "suffix",
		"--store", "sqlite:" + filepath.Join(folder, "names.db"),
	}}
	writeFile(t, i.dir, "users.csv", importFile(rows))
	return i
}

// startOn starts the import on a pipe, and returns when it has read most of a part of the file.
func (i *importing) startOn(part string) *process {
	i.Helper()
	dir := i.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "users.csv"), 0o600); err != nil {
		i.Fatal(err)
	}
	p := start(i.T, dir, nil, i.args...)
	pipe, err := os.OpenFile(filepath.Join(dir, "users.csv"), os.O_WRONLY, 0)
	if err != nil {
		i.Fatal(err)
	}
	i.Cleanup(func() { _ = pipe.Close() })
	if _, err := io.WriteString(pipe, part); err != nil {
		i.Fatal(err)
	}
	return p
}

// An import into a new SQLite file shows nothing before it is complete. Killed and begun again, it
// ends in the state of one that was not killed, and leaves no other file.
func TestImportIntoNewFileKilled(t *testing.T) {
	t.Parallel()
	notRaced(t)
	const rows = 9000
	undisturbed := t.TempDir()
	newFileImport(t, undisturbed, rows).mustEnd()

	folder := t.TempDir()
	i := newFileImport(t, folder, rows)
	for _, some := range []int{100, 5000, rows} {
		p := i.startOn(importFile(some))
		await(t, "the import has a file", func() bool { return len(leftIn(t, folder)) > 0 })
		p.kill(t)
		if left := leftIn(t, folder); len(left) != 1 || left[0] == "names.db" {
			t.Errorf("killed after %d rows, it leaves %v", some, left)
		}
	}
	// At the end, too, when the file gets its name. This one may end first.
	p := i.start()
	await(t, "the file becomes longer", func() bool {
		return slices.ContainsFunc(leftIn(t, folder), func(name string) bool {
			info, err := os.Stat(filepath.Join(folder, name))
			return err == nil && info.Size() > 1<<20
		})
	})
	p.kill(t)
	i.mustEnd()
	if left := leftIn(t, folder); slices.Contains(left, "names.db-wal") || len(left) != 1 {
		t.Errorf("there is %v, want names.db alone", left)
	}
	mustHaveSame(t, watch(t, "sqlite:"+folder+"/names.db").contents(), watch(t, "sqlite:"+undisturbed+"/names.db").contents())
	if again := i.mustEnd(); !strings.Contains(again.stdout.String(), "nothing has changed") {
		t.Errorf("a second run says %s", again.stdout.String())
	}
}

// A full disk stops an import into a new file, and leaves nothing of it. When there is room, another run
// imports everything.
func TestImportIntoNewFileOnFullDisk(t *testing.T) {
	t.Parallel()
	notRaced(t)
	disk := smallDisk(t, "3m")
	i := newFileImport(t, disk, 15_000)
	p := i.start()
	if code := p.wait(t); code != cli.ExitUnavailable || !strings.Contains(p.stderr.String(), "disk full") {
		t.Errorf("the import ends with %d: %s", code, p.stderr.String())
	}
	if strings.Contains(p.stderr.String(), "to go on") {
		t.Errorf("the import says %q, but nothing is imported", p.stderr.String())
	}
	if left := leftIn(t, disk); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	i.mustEnd()
}
