//go:build unix

package docs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/pgtest"
)

// restored is a registry before its backup, after it, and after the restore.
type restored struct {
	*testing.T
	*dibs.Registry
	hold          dibs.Hold // that is confirmed after the backup
	token         string
	before, after dibs.Cursor // of the feed, when the backup is made and when the data is lost
}

var couple = dibs.Entity{Type: "wedding", ID: "42"}

// fill makes what the backup has.
func (r *restored) fill() {
	r.Helper()
	r.must(r.Claim(r.Context(), dibs.Claim{Namespace: "slug", Value: "alice-bob", Entity: couple}))
	r.must(r.Rename(r.Context(), dibs.Rename{Namespace: "slug", Value: "alice-and-bob", Entity: couple}))
	r.token = "a-token-from-before-the-backup"
	var err error
	r.hold, err = r.Reserve(r.Context(), dibs.Reserve{Namespace: "slug", Value: "carol-dan", Token: r.token, TTL: dibs.For(30 * time.Minute)})
	if err != nil {
		r.Fatal(err)
	}
	r.before = r.latest()
}

// change makes what the backup does not have.
func (r *restored) change() {
	r.Helper()
	r.confirmHold()
	r.must(r.Claim(r.Context(), dibs.Claim{Namespace: "slug", Value: "erin-frank", Entity: dibs.Entity{Type: "wedding", ID: "44"}}))
	r.after = r.latest()
	if err := r.Close(); err != nil {
		r.Fatal(err)
	}
}

func (r *restored) confirmHold() {
	r.Helper()
	r.must(r.Confirm(r.Context(), dibs.Confirm{ID: r.hold.ID, Token: r.token, Entity: dibs.Entity{Type: "wedding", ID: "43"}}))
}

// check compares the restored registry with what the page says.
func (r *restored) check() {
	r.Helper()
	defer func() { _ = r.Close() }()
	old, err := r.Resolve(r.Context(), "slug", "alice-bob")
	if err != nil || old.Entity != couple || old.To == nil || old.To.Canonical != "alice-and-bob" {
		r.Errorf("the alias leads to %+v, %v", old, err)
	}
	free, err := r.Check(r.Context(), dibs.CheckRequest{Namespace: "slug", Values: []string{"erin-frank"}})
	if err != nil || !free[0].Available {
		r.Errorf("a name that was given after the backup: %+v, %v", free, err)
	}
	if page, err := r.Events(r.Context(), dibs.FeedQuery{After: r.before}); err != nil || len(page.Events) != 0 {
		r.Errorf("after the cursor of the backup: %+v, %v", page, err)
	}
	if _, err := r.Events(r.Context(), dibs.FeedQuery{After: r.after}); !errors.Is(err, dibs.ErrBadCursor) {
		r.Errorf("a cursor of the time that is gone gets %v", err)
	}
	r.confirmHold() // its token is still good
	page, err := r.Events(r.Context(), dibs.FeedQuery{After: r.before})
	if err != nil || len(page.Events) != 1 || page.Events[0].Kind != dibs.EventConfirmed || page.Events[0].Epoch != r.hold.Epoch {
		r.Errorf("after the cursor of the backup: %+v, %v", page, err)
	}
}

func (r *restored) latest() dibs.Cursor {
	r.Helper()
	page, err := r.Events(r.Context(), dibs.FeedQuery{Limit: 100})
	if err != nil || len(page.Events) == 0 {
		r.Fatal(page, err)
	}
	return page.Events[len(page.Events)-1].Cursor
}

func (r *restored) must(_ dibs.Name, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// begin opens a store and fills it.
func begin(t *testing.T, address string) *restored {
	t.Helper()
	r := &restored{T: t, Registry: openStore(t, address)}
	r.fill()
	return r
}

// The steps of docs/backups.md work on every engine.
func TestBackups(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it runs programs, which the race detector does not see")
	}
	page := readMarked(t, "docs/backups.md")
	t.Run("engines", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *shell){
			"sqlite": restoreSQLite, "postgresql dump": restoreDump, "postgresql base": restoreBase, "etcd": restoreEtcd,
		} {
			t.Run(name, func(t *testing.T) { test(t, newShell(t, page.in(t))) })
		}
	})
	page.mustUse("")
}

// in returns the page for another test.
func (m *marked) in(t *testing.T) *marked {
	other := *m
	other.T = t
	return &other
}

func restoreSQLite(t *testing.T, s *shell) {
	t.Helper()
	store := "sqlite:" + filepath.Join(s.folder, "dibs.db")
	r := begin(t, store)
	s.run("sqlite backup")
	r.change()
	s.run("sqlite restore")
	r.Registry = openStore(t, store)
	r.check()
}

func restoreDump(t *testing.T, s *shell) {
	t.Helper()
	database := pgtest.Shared(t).NewDatabase(t)
	s.env = append(s.env, "DATABASE="+database)
	r := begin(t, database)
	s.run("postgresql dump")
	r.change()
	s.run("postgresql dump restore")
	r.Registry = openStore(t, database)
	r.check()
}

func restoreBase(t *testing.T, s *shell) {
	t.Helper()
	cluster := pgtest.Start(t, pgtest.Options{})
	r := begin(t, cluster.DSN("postgres"))
	s.run("postgresql base", "DATABASE="+cluster.DSN("postgres"))
	r.change()
	cluster.Stop(t)
	base, err := os.MkdirTemp("", "base") // where the user of PostgreSQL gets to
	if err == nil {
		err = os.Rename(filepath.Join(s.folder, "base", "data"), filepath.Join(base, "data"))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	pgtest.Own(t, base)
	r.Registry = openStore(t, pgtest.Start(t, pgtest.Options{Folder: base}).DSN("postgres"))
	r.check()
}

func restoreEtcd(t *testing.T, s *shell) {
	t.Helper()
	for _, tool := range []string{"etcdctl", "etcdutl"} {
		s.addProgram(tool, fmt.Sprintf("exec '%s' %s", etcdtest.Program(t), tool))
	}
	lost := etcdtest.Start(t, etcdtest.Options{})
	address := func(c *etcdtest.Cluster) string { return "etcd://" + strings.Join(c.Endpoints(), ",") + "/dibs" }
	r := begin(t, address(lost))
	s.run("etcd backup", "ENDPOINT="+lost.Members[0].Endpoint())
	r.change()
	for _, m := range lost.Members {
		m.Kill()
	}
	made := etcdtest.StartFrom(t, func(m etcdtest.NewMember) error {
		s.run("etcd restore", "DATA="+m.DataDir, "NAME="+m.Name, "ALL="+m.InitialCluster, "URL="+m.PeerURL)
		_, err := os.Stat(filepath.Join(m.DataDir, "member"))
		return err
	})
	r.Registry = openStore(t, address(made))
	r.check()
}
