package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/pgtest"
)

// An address without a store is found out before Open creates one.
func TestMustExist(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cluster := pgtest.Shared(t)
	postgres := cluster.DSN("postgres") + "&dibs_schema=" + cluster.NewSchema(t)
	for _, address := range []string{"sqlite:" + filepath.Join(dir, "names.db"), "sqlite:" + empty, postgres} {
		if err := engine.MustExist(t.Context(), address); !errors.Is(err, engine.ErrNoStore) {
			t.Errorf("%s: %v", engine.Redacted(address), err)
		}
		store, err := engine.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if err := engine.MustExist(t.Context(), address); err != nil {
			t.Errorf("%s was opened: %v", engine.Redacted(address), err)
		}
	}
	for _, address := range []string{"mem:", "sqlite:" + dir, "postgres://nobody@127.0.0.1:1/none?connect_timeout=1"} {
		if err := engine.MustExist(t.Context(), address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}
