package sqlitestore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/calldibs/dibs/internal/testdisk"
)

// A commit that a killed process has written and not synced is recovered. What a store has answered stays when
// the power fails then.
func TestRecoveredCommitsAreSynced(t *testing.T) {
	t.Parallel()
	l := newLogged(t)
	disk, err := testdisk.New(t)
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(disk.Path, "names.db")
	if err := errors.Join(os.WriteFile(path, l.file, 0o600), os.WriteFile(path+"-wal", l.wal[:l.lastBegins()], 0o600), disk.Sync()); err != nil {
		t.Fatal(err)
	}
	wal, err := os.OpenFile(path+"-wal", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wal.Write(l.wal[l.lastBegins():]); err != nil { // and it is killed
		t.Fatal(err)
	}
	if err := wal.Close(); err != nil {
		t.Fatal(err)
	}
	reader := startChild(t, path, openTask)
	isOpen := reader.out.Scan() && reader.out.Text() == "open"
	_ = reader.Process.Kill()
	_ = reader.Wait()
	if !isOpen {
		t.Fatalf("the file cannot be opened: %s", reader.out.Text())
	}
	if err := disk.LosePower(); err != nil {
		t.Fatal(err)
	}
	if n := countLogged(t, openTest(t, path, Config{})); n != loggedNames {
		t.Errorf("%d names of %d are left", n, loggedNames)
	}
}
