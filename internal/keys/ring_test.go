package keys_test

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
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/keys"
	"github.com/calldibs/dibs/internal/pgtest"
)

var readers = []access.Grant{{Verbs: []access.Verb{access.Read}, Namespaces: []string{"acme.*"}}}

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

func create(t *testing.T, ring *keys.Ring, name string) (keys.Key, string) {
	t.Helper()
	key, secret, err := ring.Create(t.Context(), keys.Key{Name: name, Grants: readers})
	if err != nil {
		t.Fatal(err)
	}
	return key, secret
}

func wantUnknown(t *testing.T, ring *keys.Ring, secret string) {
	t.Helper()
	key, err := ring.Find(t.Context(), secret)
	if !errors.Is(err, keys.ErrUnknown) || err.Error() != keys.ErrUnknown.Error() || key.Name != "" {
		t.Errorf("found %+v, %v", key, err)
	}
}

func TestLifeOfAKey(t *testing.T) {
	engines(t, func(t *testing.T, store dibs.Store) {
		ring := keys.NewRing(store)
		if some, err := ring.Any(t.Context()); err != nil || some {
			t.Errorf("any: %v, %v", some, err)
		}
		key, secret := create(t, ring, "shop-1")
		if !regexp.MustCompile(`^dibs_[a-z2-7]{8}_[a-z2-7]{32,}$`).MatchString(secret) || !strings.HasPrefix(secret, "dibs_"+key.Prefix+"_") {
			t.Errorf("a secret of %d characters, prefix %s", len(secret), key.Prefix)
		}
		if key.Name != "shop-1" || key.CreatedAt.IsZero() || !key.ExpiresAt.IsZero() || !reflect.DeepEqual(key.Grants, readers) {
			t.Errorf("created %+v", key)
		}
		if some, err := ring.Any(t.Context()); err != nil || !some {
			t.Errorf("any: %v, %v", some, err)
		}
		for _, r := range []*keys.Ring{ring, ring, keys.NewRing(store)} {
			if found, err := r.Find(t.Context(), secret); err != nil || !reflect.DeepEqual(found, key) {
				t.Errorf("found %+v, %v, want %+v", found, err, key)
			}
		}
		if caller := key.Caller(); caller.Name != "shop-1" || !caller.May(access.Get, "acme.slug") || caller.May(access.Get, "slug") {
			t.Errorf("caller %+v", caller)
		}
		if _, _, err := ring.Create(t.Context(), keys.Key{Name: "shop-1", Grants: readers}); !errors.Is(err, keys.ErrNameTaken) {
			t.Errorf("a second key of the name: %v", err)
		}
		if err := ring.Revoke(t.Context(), "shop-1"); err != nil {
			t.Fatal(err)
		}
		wantUnknown(t, ring, secret)
		if err := ring.Revoke(t.Context(), "shop-1"); !errors.Is(err, keys.ErrNotFound) {
			t.Errorf("revoked twice: %v", err)
		}
		// The name can be used again, and the old secret is not good for it.
		_, second := create(t, ring, "shop-1")
		wantUnknown(t, ring, secret)
		if _, err := ring.Find(t.Context(), second); err != nil {
			t.Error(err)
		}
	})
}

// Of many who want the same name at once one gets it, on engines with unique labels too.
func TestOneKeyPerName(t *testing.T) {
	engines(t, func(t *testing.T, store dibs.Store) {
		const rivals = 8
		var wg sync.WaitGroup
		secrets := make(chan string, rivals)
		for range rivals {
			wg.Go(func() {
				_, secret, err := keys.NewRing(store).Create(t.Context(), keys.Key{Name: "one", Grants: readers})
				switch {
				case err == nil:
					secrets <- secret
				case !errors.Is(err, keys.ErrNameTaken):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(secrets) != 1 {
			t.Fatalf("%d keys of one name", len(secrets))
		}
		list, err := keys.NewRing(store).List(t.Context())
		if err != nil || len(list) != 1 {
			t.Errorf("listed %+v, %v", list, err)
		}
	})
}

func TestList(t *testing.T) {
	engines(t, func(t *testing.T, store dibs.Store) {
		ring := keys.NewRing(store)
		if list, err := ring.List(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("listed %+v, %v", list, err)
		}
		const many = 101 // more than a page
		for i := range many {
			create(t, ring, fmt.Sprintf("key-%03d", (i*7)%many))
		}
		list, err := ring.List(t.Context())
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

// What is stored is the digest of the secret, and nothing else of it but the prefix.
func TestSecretIsNotStored(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store, err := engine.Open(t.Context(), "sqlite:"+filepath.Join(folder, "keys.db"))
	if err != nil {
		t.Fatal(err)
	}
	key, secret := create(t, keys.NewRing(store), "shop")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "keys.db"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(secret))
	if !bytes.Contains(data, []byte(hex.EncodeToString(sum[:]))) {
		t.Error("the digest is not there")
	}
	rest := strings.TrimPrefix(secret, "dibs_"+key.Prefix+"_")
	for _, part := range []string{secret, rest, rest[:12], rest[len(rest)-12:]} {
		if bytes.Contains(data, []byte(part)) {
			t.Error("a part of the secret is there")
		}
	}
}

func TestUnknownSecrets(t *testing.T) {
	t.Parallel()
	ring, _ := clockwork(t)
	_, secret := create(t, ring, "shop")
	flip := func(i int) string {
		b := []byte(secret)
		if b[i]++; b[i] > 'z' {
			b[i] = 'a'
		}
		return string(b)
	}
	for name, wrong := range map[string]string{
		"empty": "", "start": "dibs_", "one less": secret[:len(secret)-1], "one more": secret + "a", "upper case": strings.ToUpper(secret),
		"other prefix": flip(6), "other rest": flip(20), "other end": flip(len(secret) - 1), "no start": secret[5:],
		"spaces": " " + secret, "nul": secret[:len(secret)-1] + "\x00", "separator": strings.Replace(secret, "_", "-", 2),
	} {
		t.Run(name, func(t *testing.T) { wantUnknown(t, ring, wrong) })
	}
	if _, err := ring.Find(t.Context(), secret); err != nil {
		t.Error(err)
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	ring, clock := clockwork(t)
	for name, c := range map[string]struct {
		key  keys.Key
		want string
	}{
		"no name":      {keys.Key{Grants: readers}, `"" is no name for a key`},
		"long name":    {keys.Key{Name: strings.Repeat("a", 65), Grants: readers}, "1 to 64 of a-z"},
		"upper case":   {keys.Key{Name: "Shop", Grants: readers}, `"Shop" is no name`},
		"a slash":      {keys.Key{Name: "a/b", Grants: readers}, "is no name"},
		"letters":      {keys.Key{Name: "käse", Grants: readers}, "is no name"},
		"no grant":     {keys.Key{Name: "shop"}, "grant something"},
		"empty grant":  {keys.Key{Name: "shop", Grants: make([]access.Grant, 1)}, "a grant needs a verb"},
		"over already": {keys.Key{Name: "shop", Grants: readers, ExpiresAt: clock.now()}, "the key would be over already"},
	} {
		_, secret, err := ring.Create(t.Context(), c.key)
		if err == nil || !strings.Contains(err.Error(), c.want) || secret != "" {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for _, name := range []string{"a", "0", ".", "a.b-c_d", strings.Repeat("z", 64)} {
		create(t, ring, name)
	}
}

// An engine that fails is told as such, and is not remembered as an answer.
func TestEngineGone(t *testing.T) {
	t.Parallel()
	ring, clock := clockwork(t)
	_, secret := create(t, ring, "shop")
	clock.store.fail(dibs.Unavailable(errors.New("no line")))
	if _, err := ring.Find(t.Context(), secret); !errors.Is(err, dibs.ErrUnavailable) || errors.Is(err, keys.ErrUnknown) {
		t.Errorf("found with %v", err)
	}
	if _, err := ring.Any(t.Context()); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("any: %v", err)
	}
	if _, _, err := ring.Create(t.Context(), keys.Key{Name: "b", Grants: readers}); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("created: %v", err)
	}
	clock.store.fail(nil)
	if _, err := ring.Find(t.Context(), secret); err != nil {
		t.Error(err)
	}
}

// Somebody who is faster is waited for, but not for ever.
func TestInsists(t *testing.T) {
	t.Parallel()
	ring, clock := clockwork(t)
	clock.store.answer(dibs.Stale, dibs.Busy, dibs.Stale)
	_, secret := create(t, ring, "shop")
	if _, err := ring.Find(t.Context(), secret); err != nil {
		t.Error(err)
	}
	clock.store.answer(make([]dibs.Outcome, 100)...)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := ring.Revoke(ctx, "shop"); !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("revoked: %v", err)
	}
}
