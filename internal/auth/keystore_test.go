package auth_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/pgtest"
)

var readers = grant(access.Read, "acme.*")

// engines runs a test on every engine, each empty.
func engines(t *testing.T, test func(t *testing.T, store dibs.Store)) {
	t.Parallel()
	for name, address := range map[string]func(t *testing.T) string{
		"memory": func(*testing.T) string { return "mem:" },
		"sqlite": func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "keys.db") },
		"postgres": func(t *testing.T) string {
			cluster := pgtest.Shared(t)
			return cluster.DSN("postgres") + "&dibs_schema=" + cluster.NewSchema(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, err := engine.Open(t.Context(), address(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			test(t, store)
		})
	}
}

func create(t *testing.T, keys *auth.KeyStore, name string) (auth.Key, string) {
	t.Helper()
	key, secret, err := keys.Create(t.Context(), auth.Key{Name: name, Grants: readers})
	if err != nil {
		t.Fatal(err)
	}
	return key, secret
}

func wantFound(t *testing.T, keys *auth.KeyStore, secret string) {
	t.Helper()
	if _, err := keys.Find(t.Context(), secret); err != nil {
		t.Error(err)
	}
}

func wantUnknown(t *testing.T, keys *auth.KeyStore, secret string) {
	t.Helper()
	key, err := keys.Find(t.Context(), secret)
	if !errors.Is(err, auth.ErrUnknownKey) || err.Error() != auth.ErrUnknownKey.Error() || key.Name != "" {
		t.Errorf("found %+v, %v", key, err)
	}
}

func TestKeyLifecycle(t *testing.T) {
	engines(t, func(t *testing.T, store dibs.Store) {
		keys := auth.NewKeyStore(store)
		if some, err := keys.Any(t.Context()); err != nil || some {
			t.Errorf("any: %v, %v", some, err)
		}
		key, secret := create(t, keys, "shop-1")
		if !regexp.MustCompile(`^dibs_[a-z2-7]{8}_[a-z2-7]{32,}$`).MatchString(secret) || !strings.HasPrefix(secret, "dibs_"+key.Prefix+"_") {
			t.Errorf("a secret of %d characters, prefix %s", len(secret), key.Prefix)
		}
		if key.Name != "shop-1" || key.CreatedAt.IsZero() || !key.ExpiresAt.IsZero() || !reflect.DeepEqual(key.Grants, readers) {
			t.Errorf("created %+v", key)
		}
		if some, err := keys.Any(t.Context()); err != nil || !some {
			t.Errorf("any: %v, %v", some, err)
		}
		for _, s := range []*auth.KeyStore{keys, keys, auth.NewKeyStore(store)} {
			if found, err := s.Find(t.Context(), secret); err != nil || !reflect.DeepEqual(found, key) {
				t.Errorf("found %+v, %v, want %+v", found, err, key)
			}
		}
		if caller := key.Caller(); caller.Name != "shop-1" || !caller.May(access.Get, "acme.slug") || caller.May(access.Get, "slug") {
			t.Errorf("caller %+v", caller)
		}
		if _, _, err := keys.Create(t.Context(), auth.Key{Name: "shop-1", Grants: readers}); !errors.Is(err, auth.ErrKeyNameTaken) {
			t.Errorf("a second key of the name: %v", err)
		}
		if err := keys.Revoke(t.Context(), "shop-1"); err != nil {
			t.Fatal(err)
		}
		wantUnknown(t, keys, secret)
		if err := keys.Revoke(t.Context(), "shop-1"); !errors.Is(err, auth.ErrKeyNotFound) {
			t.Errorf("revoked twice: %v", err)
		}
		// A new key may have the name, and the old secret does not work for it.
		_, second := create(t, keys, "shop-1")
		wantUnknown(t, keys, secret)
		wantFound(t, keys, second)
	})
}

// Of many concurrent calls to create a key with one name, one succeeds, on engines with
// unique labels too.
func TestOneKeyPerName(t *testing.T) {
	engines(t, func(t *testing.T, store dibs.Store) {
		const rivals = 8
		var wg sync.WaitGroup
		secrets := make(chan string, rivals)
		for range rivals {
			wg.Go(func() {
				_, secret, err := auth.NewKeyStore(store).Create(t.Context(), auth.Key{Name: "one", Grants: readers})
				switch {
				case err == nil:
					secrets <- secret
				case !errors.Is(err, auth.ErrKeyNameTaken):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(secrets) != 1 {
			t.Fatalf("%d keys of one name", len(secrets))
		}
		list, err := auth.NewKeyStore(store).List(t.Context())
		if err != nil || len(list) != 1 {
			t.Errorf("listed %+v, %v", list, err)
		}
	})
}

func TestList(t *testing.T) {
	engines(t, func(t *testing.T, store dibs.Store) {
		keys := auth.NewKeyStore(store)
		if list, err := keys.List(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("listed %+v, %v", list, err)
		}
		const many = 101 // more than a page
		for i := range many {
			create(t, keys, fmt.Sprintf("key-%03d", (i*7)%many))
		}
		list, err := keys.List(t.Context())
		if err != nil || len(list) != many {
			t.Fatalf("%d keys, %v", len(list), err)
		}
		for i, key := range list {
			if key.Name != fmt.Sprintf("key-%03d", i) || len(key.Prefix) != 8 || len(key.Grants) != 1 {
				t.Fatalf("number %d is %+v", i, key)
			}
		}
	})
}

// The store has the digest and the prefix of a secret, and nothing else of it.
func TestSecretIsNotStored(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store, err := engine.Open(t.Context(), "sqlite:"+filepath.Join(folder, "keys.db"))
	if err != nil {
		t.Fatal(err)
	}
	key, secret := create(t, auth.NewKeyStore(store), "shop")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "keys.db"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(secret))
	if !bytes.Contains(data, []byte(hex.EncodeToString(sum[:]))) {
		t.Error("the digest is not in the store")
	}
	rest := strings.TrimPrefix(secret, "dibs_"+key.Prefix+"_")
	for _, part := range []string{secret, rest, rest[:12], rest[len(rest)-12:]} {
		if bytes.Contains(data, []byte(part)) {
			t.Error("a part of the secret is in the store")
		}
	}
}

func TestUnknownSecrets(t *testing.T) {
	t.Parallel()
	keys, _ := newTestStore()
	_, secret := create(t, keys, "shop")
	flip := func(i int) string {
		b := []byte(secret)
		if b[i]++; b[i] > 'z' {
			b[i] = 'a'
		}
		return string(b)
	}
	for name, wrong := range map[string]string{
		"empty": "", "start only": "dibs_", "one less": secret[:len(secret)-1], "one more": secret + "a", "upper case": strings.ToUpper(secret),
		"other prefix": flip(6), "other rest": flip(20), "other end": flip(len(secret) - 1), "no start": secret[5:],
		"spaces": " " + secret, "nul": secret[:len(secret)-1] + "\x00", "separator": strings.Replace(secret, "_", "-", 2),
	} {
		t.Run(name, func(t *testing.T) { wantUnknown(t, keys, wrong) })
	}
	wantFound(t, keys, secret)
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	keys, store := newTestStore()
	for name, c := range map[string]struct {
		key  auth.Key
		want string
	}{
		"no name":     {auth.Key{Grants: readers}, `"" is not a valid key name`},
		"long name":   {auth.Key{Name: strings.Repeat("a", 65), Grants: readers}, "1 to 64 of a-z"},
		"upper case":  {auth.Key{Name: "Shop", Grants: readers}, `"Shop" is not a valid key name`},
		"a slash":     {auth.Key{Name: "a/b", Grants: readers}, "is not a valid key name"},
		"letters":     {auth.Key{Name: "käse", Grants: readers}, "is not a valid key name"},
		"no grant":    {auth.Key{Name: "shop"}, "needs at least one grant"},
		"empty grant": {auth.Key{Name: "shop", Grants: make([]access.Grant, 1)}, "a grant needs a verb"},
		"in the past": {auth.Key{Name: "shop", Grants: readers, ExpiresAt: store.now()}, "which is in the past"},
	} {
		_, secret, err := keys.Create(t.Context(), c.key)
		if err == nil || !strings.Contains(err.Error(), c.want) || secret != "" {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for _, name := range []string{"a", "0", ".", "a.b-c_d", strings.Repeat("z", 64)} {
		create(t, keys, name)
	}
}

// An error of the engine is returned as such, and is not cached.
func TestEngineFails(t *testing.T) {
	t.Parallel()
	keys, store := newTestStore()
	_, secret := create(t, keys, "shop")
	store.failReads(dibs.Unavailable(errors.New("no line")))
	if _, err := keys.Find(t.Context(), secret); !errors.Is(err, dibs.ErrUnavailable) || errors.Is(err, auth.ErrUnknownKey) {
		t.Errorf("found with %v", err)
	}
	if _, err := keys.Any(t.Context()); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("any: %v", err)
	}
	if _, _, err := keys.Create(t.Context(), auth.Key{Name: "b", Grants: readers}); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("created: %v", err)
	}
	store.failReads(nil)
	wantFound(t, keys, secret)
}

// A commit that conflicts is tried again, until the context ends.
func TestConflictsAreRetried(t *testing.T) {
	t.Parallel()
	keys, store := newTestStore()
	store.skipCommits(dibs.Stale, dibs.Busy, dibs.Stale)
	_, secret := create(t, keys, "shop")
	wantFound(t, keys, secret)
	store.skipCommits(make([]dibs.Outcome, 100)...)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	// It ends while Revoke waits, or while it reads.
	if err := keys.Revoke(ctx, "shop"); !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("revoked: %v", err)
	}
}

// A session whose stored digest is damaged belongs to no key.
func TestDamagedSession(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{"", "zz", strings.Repeat("a", 10), strings.Repeat("a", 63), strings.Repeat("a", 66), strings.Repeat("a", 1000)} {
		if digest := auth.SessionDigest(stored); digest != (auth.Digest{}) {
			t.Errorf("%q is the digest %x", stored, digest)
		}
	}
	if auth.SessionDigest(strings.Repeat("a", 64)) == (auth.Digest{}) {
		t.Error("a whole digest is not read")
	}
}
