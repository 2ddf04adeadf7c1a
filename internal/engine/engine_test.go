package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/sqlitestore"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

func open(t *testing.T, address string) dibs.Store {
	t.Helper()
	store, err := engine.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := store.Load(t.Context(), nil); err != nil {
		t.Error(err)
	}
	return store
}

func TestOpenMemory(t *testing.T) {
	t.Parallel()
	if _, ok := open(t, "mem:").(*memstore.Store); !ok {
		t.Error("mem: is not memstore")
	}
}

func TestOpenSQLite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "names.db")
	for _, address := range []string{"sqlite:" + file, "sqlite://" + file} {
		if _, ok := open(t, address).(*sqlitestore.Store); !ok {
			t.Errorf("%s is not SQLite", address)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestOpenPostgres(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Shared(t)
	dsn := cluster.DSN("postgres")
	if !strings.Contains(dsn, "?") {
		dsn += "?"
	}
	schema := "engine test"
	store := open(t, dsn+"&dibs_schema=engine+test&pool_max_conns=3")
	if _, ok := store.(*pgstore.Store); !ok {
		t.Errorf("a %T, want PostgreSQL", store)
	}
	// The schema exists and is up to date.
	direct, err := pgstore.Open(t.Context(), cluster.DSN("postgres"), pgstore.Config{Schema: schema, NoMigrations: true})
	if err != nil {
		t.Fatal(err)
	}
	_ = direct.Close()
}

// Behind PgBouncer in transaction mode, commands of several connections share a session.
func TestOpenPostgresBehindPgBouncer(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Shared(t)
	address := cluster.Bouncer(t, "transaction", 1) + "&dibs_pooling=transaction&dibs_schema=" + cluster.NewSchema(t)
	if err := engine.MustExist(t.Context(), address); !errors.Is(err, engine.ErrNoStore) {
		t.Errorf("before it is opened: %v", err)
	}
	for range 3 {
		if _, err := open(t, address).Load(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if err := engine.MustExist(t.Context(), address); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenEtcd(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, etcdtest.Options{Members: 1})
	if store, ok := open(t, "etcd://"+cluster.Endpoints()[0]+"/names").(*etcdstore.Store); !ok {
		t.Errorf("a %T, want etcd", store)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const list = "sqlite:names.db, postgres://user@host/database, etcd://host1,host2,host3/prefix or mem:"
	for address, want := range map[string]string{
		"mem:":                                    "",
		"sqlite:names.db":                         "",
		"sqlite:./a b.db":                         "",
		"sqlite:/var/lib/names.db":                "",
		"sqlite:///var/lib/names.db":              "",
		"postgres://localhost/names":              "",
		"postgresql://u:p@h:5432/names":           "",
		"postgres://u:p%40@h1:1,h2:2/n":           "",
		"postgres:///n?host=/run/sock":            "",
		"postgres://h/n?dibs_schema=names":        "",
		"postgres://h/n?dibs_pooling=transaction": "",
		"etcd://localhost:2379":                   "",
		"etcd://u:p%40@h1,h2:2/names":             "",

		"":                                      list,
		"names.db":                              list,
		"host=h password=hunter2":               list,
		"oracle://localhost":                    `unknown engine "oracle": use ` + list,
		"etcd:localhost":                        "begins with etcd://",
		"etcd://u:hunter2@x@h/n":                "write @ as %40",
		"etcd://h/n?a=b":                        "etcd:// has cacert, cert, key",
		"MEM:":                                  `unknown engine "MEM"`,
		"mem:names":                             `write "mem:"`,
		"sqlite:":                               "needs the path of a file",
		"sqlite::memory:":                       `use "mem:"`,
		"sqlite::memory:?cache=shared":          `use "mem:"`,
		"sqlite:names.db?mode=ro":               "takes no options",
		"sqlite://names.db":                     `write "sqlite:names.db"`,
		"postgres:names":                        "must be followed by //",
		"postgres://h/n?dibs_schema=":           "dibs_schema in the store's address is empty",
		"postgres://h/n?dibs_pooling=statement": "must be transaction or session",
		"postgres://h/n?a=%zz":                  "write name=value",
		"postgres://u:hunter2@x@h/n":            "write @ as %40",
		"postgres://u:1?hunter2@h/n":            "? as %3F",
		"postgres://u:hunter2/x@h/n":            "/ as %2F",
		"postgres://u:hunter2%zz@h/n":           "% as %25",
		"postgres://h/?password=hunter2%":       "write name=value",
		"hunter2-is-a-password-and-long:x":      `unknown engine "hunter2-is-a-pas…"`,
	} {
		err := engine.Check(address)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", address, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", address, err, want)
		}
		if want != "" {
			if _, opened := engine.Open(t.Context(), address); opened == nil || opened.Error() != err.Error() {
				t.Errorf("%s: Open says %v, Check %v", address, opened, err)
			}
		}
	}
}

// No error shows a password.
func TestPasswordsStaySecret(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	nowhere := "/nonexistent"
	for _, address := range []string{
		"postgres://u:hunter2@/n?host=" + nowhere,
		"postgres://u:hunter%32@/n?host=" + nowhere,
		"postgres://u@/n?password=hunter2&host=" + nowhere,
		"postgres://u@/n?pass%77ord=hunter2&host=" + nowhere,
		"postgres://u:hunter2@h:port/n",
		"postgres://u:hunter2@h:99999/n",
		"postgres://u:hunter2@[h/n",
		"postgres://u:hunter2@h/n?sslmode=whatever",
		"postgres://u:hunter2@h/n?pool_max_conns=many",
		"postgres://u:hunter2@h/n?default_query_exec_mode=exec",
		"postgres://u@h/n?sslpassword=hunter2&sslmode=whatever",
		"postgres://u:hunter2@x@h/n",
		"postgres://u:x?hunter2@h:port/n",
		"postgres:u:hunter2@h/n",
		"postgres://u:hunter2",
		"postgres://u:hunter2/n",
		"etcd://u:hunter2/n",
		"etcd://u:hunter2@127.0.0.1:1/n?timeout=100ms",
		"etcd://u:hunter2@x@h/n",
		"etcd://u:x?hunter2@h/n",
		"etcd://u:hunter2@h:port/n",
		"mysql://u:hunter2@h/n",
		"u:hunter2@h/n",
		"password=hunter2 host=h",
	} {
		store, err := engine.Open(ctx, address)
		if err == nil {
			_ = store.Close()
			t.Errorf("%s was opened", address)
			continue
		}
		if strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v", address, err)
		}
		if shown := engine.Redacted(address); strings.Contains(shown, "hunter") {
			t.Errorf("%s is shown as %s", address, shown)
		}
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"mem:":                        "mem:",
		"sqlite:names.db":             "sqlite:names.db",
		"postgres://u:p@h:5432/n?x=y": "postgres://u@h:5432/n?x=y",
		"postgresql://h/n":            "postgresql://h/n",
		"postgres://u:p?q@h/n":        "postgres://…",
		"postgres://u:p@q?r@h/n":      "postgres://u@q?…",
		"etcd://u:p@h1,h2:1/n?x=y":    "etcd://u@h1,h2:1/n?x=y",
		"etcd://u:p?q@h/n":            "etcd://…",
		"postgres://u:password/n":     "postgres://…",
		"postgres://[::1]:5432,h:1/n": "postgres://[::1]:5432,h:1/n",
		"anything:else":               "(not a store's address)",

		"postgres://u@h/n?sslmode=disable&dibs_schema=reg2":       "postgres://u@h/n?sslmode=disable&dibs_schema=reg2",
		"postgres://u@h1,h2/n?target_session_attrs=read-write":    "postgres://u@h1,h2/n?target_session_attrs=read-write",
		"postgres:///n?host=%2Ftmp&port=5433&dibs_schema=x":       "postgres:///n?host=%2Ftmp&port=5433&dibs_schema=x",
		"postgres://u@h/n?password=p&dibs_schema=x&sslpassword=p": "postgres://u@h/n?dibs_schema=x",
		"postgres://u@h/n?PassWord=p":                             "postgres://u@h/n",
		"etcd://h/n?cacert=ca.pem&cert=c.pem&key=k.pem":           "etcd://h/n?cacert=ca.pem&cert=c.pem&key=k.pem",
	} {
		if got := engine.Redacted(address); got != want {
			t.Errorf("%s is shown as %s, want %s", address, got, want)
		}
	}
}
