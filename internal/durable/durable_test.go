package durable_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/calldibs/dibs/internal/durable"
)

func TestFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := durable.Folder(folder); err != nil {
		t.Error(err)
	}
	if err := durable.Folder(filepath.Join(folder, "none")); err == nil && runtime.GOOS != "windows" {
		t.Error("a folder that is not there is no error")
	}
}

// A file system that cannot sync folders does not fail a command whose file is whole.
func TestFolderThatCannotBeSynced(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there may be no such folder")
	}
	if err := durable.Folder("/proc"); err != nil {
		t.Error(err)
	}
}

func TestFolderThatCannotBeRead(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "inbox")
	if err := os.Mkdir(folder, 0o300); err != nil {
		t.Fatal(err)
	}
	if err := durable.Folder(folder); err != nil { // root can read it
		t.Error(err)
	}
}
