package sqlitestore_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/sqlitestore"
	"github.com/calldibs/dibs/storetest"
)

// files maps stores of the suite to their files.
type files struct {
	paths sync.Map // of dibs.Store to string
}

func (f *files) open(tb testing.TB, path string, clock *storetest.Clock) dibs.Store {
	tb.Helper()
	store, err := sqlitestore.Open(context.Background(), path, sqlitestore.Config{Now: clock.Now})
	if err != nil {
		tb.Fatal(err)
	}
	f.paths.Store(store, path)
	return store
}

func (f *files) path(store dibs.Store) string {
	path, _ := f.paths.Load(store)
	return path.(string)
}

// again opens the file of a store again.
func (f *files) again(tb testing.TB, store dibs.Store, clock *storetest.Clock) dibs.Store {
	tb.Helper()
	return f.open(tb, f.path(store), clock)
}

// crash opens a copy of the present files, like after a kill.
func (f *files) crash(tb testing.TB, store dibs.Store, clock *storetest.Clock) dibs.Store {
	tb.Helper()
	copied := filepath.Join(tb.TempDir(), "crashed.db")
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(f.path(store)+suffix, copied+suffix); err != nil {
			tb.Fatal(err)
		}
	}
	return f.open(tb, copied, clock)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

func TestConformance(t *testing.T) {
	t.Parallel()
	var f files
	storetest.Run(t, storetest.Harness{
		Open: func(tb testing.TB, clock *storetest.Clock) dibs.Store {
			return f.open(tb, filepath.Join(tb.TempDir(), "names.db"), clock)
		},
		Reopen: f.again,
		Crash:  f.crash,
		Share:  f.again,
	})
}
