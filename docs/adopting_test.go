//go:build linux

package docs_test

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/freeport"
	"github.com/calldibs/dibs/internal/mariatest"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/internal/sqlsource"
)

// The ways of docs/adopting.md work, from tables as frameworks make them.
func TestAdopting(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it runs programs, which the race detector does not see")
	}
	page := readMarked(t, "docs/adopting.md")
	t.Run("ways", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *shell){
			"rails": moveFromRails, "django": moveFromDjango, "postgres": moveFromPostgreSQL, "mysql": moveFromMySQL, "redis": moveFromRedis,
		} {
			t.Run(name, func(t *testing.T) {
				s := newShell(t, page.in(t))
				s.env = append(s.env, "DIBS_STORE=sqlite:"+filepath.Join(s.folder, "names.db"))
				test(t, s)
			})
		}
	})
	for _, file := range []string{"write_both.py", "write_both.ts"} {
		page.block("file: " + file) // the tests of the clients run it
	}
	page.mustUse("")
}

// exec runs statements on a database, one after the other.
func (s *shell) exec(db *sql.DB, statements ...string) {
	s.Helper()
	for _, all := range statements {
		for statement := range strings.SplitSeq(all, ";") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := db.ExecContext(s.Context(), statement); err != nil {
				s.Fatalf("%s: %v", statement, err)
			}
		}
	}
}

func (s *shell) writeFile(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *shell) open(db *sql.DB, err error) *sql.DB {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = db.Close() })
	return db
}

// mustResolve checks where names of the registry lead: their states and entities.
func (s *shell) mustResolve(namespace string, want map[string]string) {
	s.Helper()
	registry := openStore(s.T, "sqlite:"+filepath.Join(s.folder, "names.db"))
	defer func() { _ = registry.Close() }()
	for value, want := range want {
		name, err := registry.Get(s.Context(), dibs.Lookup{Namespace: namespace, Value: value})
		if got := string(name.State) + " " + name.Entity.String(); err != nil || got != want {
			s.Errorf("%s is %s, %v, want %s", value, got, err, want)
		}
	}
}

func moveFromRails(t *testing.T, s *shell) {
	t.Helper()
	database := pgtest.Shared(t).NewDatabase(t)
	s.env = append(s.env, "DATABASE="+database)
	db := s.open(sqlsource.Open(database))
	s.exec(db, s.block("sql: rails"), `
		INSERT INTO posts (title, slug, created_at, updated_at) VALUES
			('Hello', 'hello-world', '2020-01-01', now()), ('Tea', 'green-tea', '2020-02-01', now());
		INSERT INTO friendly_id_slugs (slug, sluggable_id, sluggable_type, created_at) VALUES
			('hello', 1, 'Post', '2020-01-01'), ('hello-world', 1, 'Post', '2020-05-01'), ('tea', 2, 'Post', '2020-02-01'), ('green-tea', 2, 'Post', '2020-06-01'),
			('hello', 1, 'Comment', '2020-01-01')`)
	s.writeFile("posts.sql", s.block("file: posts.sql"))
	s.run("rails dry run")
	s.run("rails import")
	s.mustResolve("slug", map[string]string{
		"hello-world": "active post/1", "hello": "alias post/1", "green-tea": "active post/2", "tea": "alias post/2",
	})
	registry := openStore(t, "sqlite:"+filepath.Join(s.folder, "names.db"))
	held, err := registry.WhoHeld(t.Context(), "slug", "hello", time.Date(2020, 3, 1, 0, 0, 0, 0, time.UTC))
	if _ = registry.Close(); err != nil || held.Entity != (dibs.Entity{Type: "post", ID: "1"}) {
		t.Errorf("in March 2020 the slug was of %+v, %v", held, err)
	}
	// The product goes on meanwhile: a new post, and one that gets another slug.
	s.exec(db, `INSERT INTO posts (title, slug, created_at, updated_at) VALUES ('New', 'new-post', now(), now());
		UPDATE posts SET slug = 'black-tea' WHERE id = 2;
		INSERT INTO friendly_id_slugs (slug, sluggable_id, sluggable_type, created_at) VALUES ('new-post', 3, 'Post', now()), ('black-tea', 2, 'Post', now())`)
	if out, said, err := s.attempt("rails import"); err == nil || !strings.Contains(out, "1 imported") {
		t.Errorf("the second import ends with %v\n%s%s", err, out, said)
	}
	s.run("renamed")
	s.mustResolve("slug", map[string]string{"new-post": "active post/3", "black-tea": "active post/2", "green-tea": "alias post/2"})
}

func moveFromDjango(t *testing.T, s *shell) {
	t.Helper()
	db := s.open(sql.Open("sqlite", filepath.Join(s.folder, "db.sqlite3")))
	s.exec(db, s.block("sql: django"), `INSERT INTO shop_product (name, slug, created, is_active) VALUES
		('Tea', 'Tea_Time', '2021-01-01 10:00:00', 1), ('Cup', 'cup', '2021-01-02 10:00:00', 0), ('Tea', 'tea-time', '2021-01-03 10:00:00', 1)`)
	s.run("django dry run")
	s.run("django import")
	s.mustResolve("slug", map[string]string{"tea-time": "active product/1", "tea-time-2": "active product/3", "cup": "active product/2"})
}

func moveFromPostgreSQL(t *testing.T, s *shell) {
	t.Helper()
	database := pgtest.Shared(t).NewDatabase(t)
	s.env = append(s.env, "DATABASE="+database)
	s.exec(s.open(sqlsource.Open(database)), s.block("sql: postgres"), `
		INSERT INTO users (username, created_at, deleted_at) VALUES ('Ann', '2020-01-01', NULL), ('bob', '2020-01-02', NULL), ('rosa', '2020-01-03', '2022-01-01');
		INSERT INTO old_usernames VALUES ('annie', 1, '2021-01-01'), ('BOB', 1, '2020-01-01')`)
	s.writeFile("users.sql", s.block("file: users.sql"))
	s.run("postgres dry run")
	s.run("postgres import")
	s.mustResolve("username", map[string]string{"ann": "active user/1", "annie": "alias user/1", "bob": "active user/2", "rosa": "active user/3"})
}

func moveFromMySQL(t *testing.T, s *shell) {
	t.Helper()
	server := mariatest.Start(t)
	s.env = append(s.env, "DATABASE="+server.URL())
	db := s.open(sqlsource.Open(server.URL()))
	s.exec(db, s.block("sql: mysql"), `INSERT INTO users (username, deleted_at, created_at) VALUES
		('paypal', NULL, '2020-01-01'), ('PAYPAL', NULL, '2020-01-02'), ('paypa1', NULL, '2020-01-03'), ('rosa', '2022-01-01', '2020-01-04')`)
	s.run("mysql dry run")
	s.run("mysql import")
	s.mustResolve("username", map[string]string{"paypal": "active user/1", "rosa": "active user/4"})
}

func moveFromRedis(t *testing.T, s *shell) {
	t.Helper()
	url := startRedis(t)
	s.env = append(s.env, "REDIS="+url)
	for _, command := range []string{"SET slug:alice-bob 42 NX", "SET slug:carol-dan 43 NX", "SET slug:in-progress 44 NX EX 900", "SET other:key 1"} {
		cli := exec.CommandContext(t.Context(), "redis-cli", append([]string{"-u", url}, strings.Fields(command)...)...)
		if out, err := cli.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	s.run("redis export")
	s.run("redis import")
	s.mustResolve("slug", map[string]string{"alice-bob": "active wedding/42", "carol-dan": "active wedding/43"})
}

// startRedis starts a server, which ends with the test, and returns its URL.
func startRedis(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("redis-check-rdb") // the same program under another name, in redis-tools
	if err != nil {
		t.Fatalf("%v: run make deps", err)
	}
	port := strconv.Itoa(freeport.Port(t))
	server := &exec.Cmd{Path: program, Args: []string{"redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", ""}}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = server.Process.Kill(), server.Wait() })
	url := "redis://127.0.0.1:" + port
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if out, err := exec.CommandContext(context.Background(), "redis-cli", "-u", url, "ping").Output(); err == nil && strings.TrimSpace(string(out)) == "PONG" {
			return url
		}
		if time.Now().After(deadline) {
			t.Fatal("Redis does not answer")
		}
	}
}
