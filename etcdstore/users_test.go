//go:build unix

package etcdstore_test

import (
	"errors"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// protect enables authentication. The user dibs may read and write under a prefix.
func protect(t *testing.T, client *clientv3.Client, prefix string) {
	t.Helper()
	ctx := t.Context()
	var errs []error
	note := func(_ any, err error) { errs = append(errs, err) }
	note(client.UserAdd(ctx, "root", "root"))
	note(client.UserGrantRole(ctx, "root", "root"))
	note(client.RoleAdd(ctx, "names"))
	note(client.RoleGrantPermission(ctx, "names", prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite)))
	note(client.UserAdd(ctx, "dibs", "hunter2"))
	note(client.UserGrantRole(ctx, "dibs", "names"))
	note(client.AuthEnable(ctx))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// A user with access to the prefix alone is enough.
func TestUsers(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, etcdtest.Options{Members: 1})
	protect(t, cluster.Client(t), "names/")
	address := cluster.Endpoints()[0] + "/"
	cfg, err := etcdstore.ParseDSN("etcd://dibs:hunter2@" + address + "names")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Timeout = patience
	store := open(t, cfg)
	if got := commit(t, store, newName("one", "a")); got[0] != dibs.Committed {
		t.Errorf("outcome %v", got[0])
	}
	if n := events(t, store); n != 1 {
		t.Errorf("%d events", n)
	}
	for _, dsn := range []string{"etcd://" + address + "names", "etcd://dibs:hunter3@" + address + "names", "etcd://dibs:hunter2@" + address + "other"} {
		cfg, err := etcdstore.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := etcdstore.Open(t.Context(), cfg); err == nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v, want an error without a password", dsn, err)
		}
	}
}

// With TLS the certificate is checked.
func TestTLS(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, etcdtest.Options{Members: 1, TLS: true})
	dsn := "etcd://" + cluster.Endpoints()[0] + "/names?"
	cfg, err := etcdstore.ParseDSN(dsn + "timeout=10s&cacert=" + cluster.Members[0].Certificate())
	if err != nil {
		t.Fatal(err)
	}
	if got := commit(t, open(t, cfg), newName("one", "a")); got[0] != dibs.Committed {
		t.Errorf("outcome %v", got[0])
	}
	for _, settings := range []string{"timeout=500ms", "timeout=500ms&tls=true"} {
		cfg, err := etcdstore.ParseDSN(dsn + settings)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := etcdstore.Open(t.Context(), cfg); err == nil {
			t.Errorf("it was opened with %q", settings)
		}
	}
}
