package dibsclient_test

import (
	"errors"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/memstore"
)

var adminGrants = access.Everything.Grants

// A key that a client makes signs in, until another client revokes it.
func TestKeys(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	reg := openStore(t, store, dibs.Config{})
	keys := auth.NewKeyStore(store)
	keys.Declare([]auth.Declared{{Key: auth.Key{Name: "declared", Grants: adminGrants, DeclaredIn: "dibs.toml:7"}}})
	_, first, err := keys.Create(t.Context(), auth.Key{Name: "admin", Grants: adminGrants})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(server.New(server.Config{
		Registry: reg, Store: store, Keys: keys, Authenticate: auth.NewAuthenticator(keys, false).Bearer,
	}))
	t.Cleanup(front.Close)
	dialKeys := func(secret string) *dibsclient.Keys {
		t.Helper()
		client, err := dibsclient.DialKeys(front.URL, dibsclient.Options{Key: secret})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	admin := dialKeys(first)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	grants := []dibsclient.Grant{{Verbs: []string{"all"}, Namespaces: []string{"acme.*"}}}
	made, err := admin.Create(t.Context(), dibsclient.Key{Name: "acme", Grants: grants, ExpiresAt: until})
	if err != nil {
		t.Fatal(err)
	}
	want := dibsclient.Key{
		Name: "acme", Prefix: made.Prefix, Grants: grants, CreatedAt: made.CreatedAt, CreatedBy: "admin", ExpiresAt: until, Secret: made.Secret,
	}
	if !reflect.DeepEqual(made, want) || made.Secret == "" || made.Prefix == "" || made.CreatedAt.IsZero() {
		t.Errorf("it made %+v", made)
	}

	acme := dialKeys(made.Secret)
	list, err := acme.List(t.Context())
	if want.Secret = ""; err != nil || !reflect.DeepEqual(list, []dibsclient.Key{want}) {
		t.Errorf("acme sees %+v, %v", list, err)
	}
	if list, err = admin.List(t.Context()); err != nil || len(list) != 3 || list[2].DeclaredIn != "dibs.toml:7" {
		t.Errorf("the admin sees %+v, %v", list, err)
	}
	for name, c := range map[string]struct {
		err  error
		code string
	}{
		"a name twice":        {second(admin.Create(t.Context(), dibsclient.Key{Name: "acme", Grants: grants})), "KEY_NAME_TAKEN"},
		"a declared name":     {second(admin.Create(t.Context(), dibsclient.Key{Name: "declared", Grants: grants})), "KEY_NAME_TAKEN"},
		"no grant":            {second(admin.Create(t.Context(), dibsclient.Key{Name: "x"})), "INVALID_KEY"},
		"too long":            {second(acme.Create(t.Context(), dibsclient.Key{Name: "x", Grants: grants})), "FORBIDDEN"},
		"one that is not":     {admin.Revoke(t.Context(), "none"), "KEY_NOT_FOUND"},
		"one of others":       {acme.Revoke(t.Context(), "admin"), "KEY_NOT_FOUND"},
		"one of the settings": {admin.Revoke(t.Context(), "declared"), "KEY_DECLARED"},
	} {
		refused, ok := errors.AsType[*dibsclient.StatusError](c.err)
		if !ok || refused.Code != c.code {
			t.Errorf("%s: %v, want %s", name, c.err, c.code)
		}
	}
	if err := admin.Revoke(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	if _, err := acme.List(t.Context()); err == nil {
		t.Error("a revoked key still works")
	}
}

func second(_ dibsclient.Key, err error) error { return err }
