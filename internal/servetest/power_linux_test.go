package servetest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/testdisk"
)

// What a command has finished is on the disk, whatever happens to the machine afterwards.
func TestPowerFailsAfterACommand(t *testing.T) {
	t.Parallel()
	notRaced(t)
	disk, err := testdisk.New(t)
	if err != nil {
		t.Skip(err) // only root can have one
	}
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		p := finish(t, dir, args...)
		if code := p.wait(t); code != 0 {
			t.Fatalf("%v ends with %d: %s", args, code, p.stderr.String())
		}
		return p.stdout.String()
	}
	writeFile(t, dir, "users.csv", "username,id\nann,1\nbob,2\n")
	here := func(name string) string { return filepath.Join(dir, name) }
	there := func(name string) string { return filepath.Join(disk.Path, name) }
	add := []string{"import", "users.csv", "--namespace", "username", "--value", "username", "--entity-type", "user", "--entity-id", "id", "--store"}
	run(append(add, "sqlite:"+here("source.db"))...)
	run("dump", here("archive"), "--store", "sqlite:"+here("source.db"))

	for _, command := range [][]string{
		append(add, "sqlite:"+there("imported.db")),
		{"backup", there("backup.db"), "--store", "sqlite:" + here("source.db")},
		{"load", here("archive"), "--store", "sqlite:" + there("loaded.db")},
		{"dump", there("archive"), "--store", "sqlite:" + here("source.db")},
		{"load", there("archive"), "--store", "sqlite:" + there("loaded-again.db")},
		{"export", there("names.csv"), "--store", "sqlite:" + here("source.db")},
		{"import", there("names.csv"), "--store", "sqlite:" + there("imported-again.db")},
		{"copy", "--from", "sqlite:" + here("source.db"), "--to", "sqlite:" + there("copied.db"), "--yes"},
	} {
		run(command...)
		if err := disk.LosePower(); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, dir, "late.csv", "username,id\nann,3\n")
	add[1] = "late.csv"
	finish(t, dir, append(add, "sqlite:"+here("source.db"), "--on-conflict", "skip", "--lost", there("lost.csv"))...)
	if err := disk.LosePower(); err != nil {
		t.Fatal(err)
	}
	if lost, err := os.ReadFile(there("lost.csv")); !strings.Contains(string(lost), "ann,3,") {
		t.Errorf("lost.csv has lost a row: %q, %v", lost, err)
	}
	for _, file := range []string{"imported.db", "backup.db", "loaded.db", "loaded-again.db", "imported-again.db", "copied.db"} {
		names := run("export", "-", "--store", "sqlite:"+there(file))
		if !strings.Contains(names, "username,ann,user,1,") || !strings.Contains(names, "username,bob,user,2,") {
			t.Errorf("%s has lost names:\n%s", file, names)
		}
	}
}
