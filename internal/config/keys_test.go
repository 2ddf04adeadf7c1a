package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/config"
)

func hashOf(t *testing.T, secret string) string {
	t.Helper()
	sum, err := auth.DigestOf(secret)
	if err != nil {
		t.Fatal(err)
	}
	return sum.String()
}

// Keys come from hashes, files and variables, and their files are read only when they are needed.
func TestDeclaredKeys(t *testing.T) {
	t.Parallel()
	var secrets [5]string
	for i := range secrets {
		secrets[i] = auth.NewSecret()
	}
	path := write(t, `
[[keys]]
name = "hashed"
hash = ["`+hashOf(t, secrets[0])+`", "`+hashOf(t, secrets[1])+`"]
grants = [{ may = ["read", "hold"], in = "slug" }]
until = 2099-03-01

[[keys]]
name = "filed"
secretFile = "billing"
grants = [{ may = "all", in = ["*"] }]
until = "2099-03-01T12:00:00+01:00"

[[keys]]
name = "varied"
secretEnv = "SHOP_KEY"
grants = [{ may = "read", in = "*" }]
`)
	cfg, err := config.Load(config.Overrides{File: path, Environ: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	environ := map[string]string{"SHOP_KEY": secrets[4]}
	if _, err := cfg.DeclaredKeys(environ); err == nil || !strings.Contains(err.Error(), ":8: keys[1]: secretFile: ") {
		t.Errorf("without the file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "billing"), []byte(secrets[2]+"\n"+secrets[3]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cfg.DeclaredKeys(map[string]string{}); err == nil || !strings.HasSuffix(err.Error(), ":14: keys[2]: secretEnv: the variable SHOP_KEY is not set") {
		t.Errorf("without the variable: %v", err)
	}
	declared, err := cfg.DeclaredKeys(environ)
	if err != nil || len(declared) != 3 {
		t.Fatalf("%+v, %v", declared, err)
	}
	keys := auth.NewKeyStore(nil)
	keys.Declare(declared)
	for i, want := range []string{"hashed", "hashed", "filed", "filed", "varied"} {
		key, err := keys.Find(t.Context(), secrets[i])
		if err != nil || key.Name != want || !strings.HasPrefix(key.DeclaredIn, filepath.Base(path)+":") {
			t.Errorf("secret %d is of %+v, %v", i, key, err)
		}
	}
	for i, want := range []time.Time{time.Date(2099, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2099, 3, 1, 11, 0, 0, 0, time.UTC), {}} {
		if !declared[i].ExpiresAt.Equal(want) {
			t.Errorf("%s expires at %v", declared[i].Name, declared[i].ExpiresAt)
		}
	}
	environ["SHOP_KEY"] = secrets[0]
	if _, err := cfg.DeclaredKeys(environ); err == nil || !strings.Contains(err.Error(), `key "varied" has the secret of another key`) {
		t.Errorf("one secret of two keys: %v", err)
	}
	environ["SHOP_KEY"] = "hunter2hunter2"
	if _, err := cfg.DeclaredKeys(environ); err == nil || !strings.Contains(err.Error(), "dibs keys generate") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret of one's own: %v", err)
	}
}

// A mistake in a key is reported with its place, and never with a secret.
func TestDeclaredKeyProblems(t *testing.T) {
	t.Parallel()
	const rest = "\n" + `grants = [{ may = "read", in = "*" }]`
	hash := "\nhash = \"" + hashOf(t, auth.NewSecret()) + `"`
	for text, want := range map[string]string{
		`name = "a"` + rest: ":1: keys[0]: must have exactly one of hash, secretFile and secretEnv",
		`name = "a"` + rest + hash + "\n" + `secretEnv = "X"`:                    ":1: keys[0]: must have exactly one of hash, secretFile and secretEnv",
		`name = "a"` + rest + "\n" + `secret = "dibs_hunter2"`:                   ":4: keys[0].secret: a secret does not belong in this file",
		`name = "a"` + rest + "\n" + `hash = "md5:00"`:                           `:4: keys[0].hash[0]: must be "sha256:" and 64 hexadecimal digits`,
		`name = "A b"` + rest + hash:                                             `:2: keys[0].name: "A b" is not a valid key name`,
		`name = "a"` + hash:                                                      ":1: keys[0]: a key needs at least one grant",
		`name = "a"` + hash + "\n" + `grants = [{ may = "fly", in = "*" }]`:      `:4: keys[0].grants[0]: unknown verb "fly"`,
		`name = "a"` + rest + hash + "\nuntil = \"soon\"":                        `:5: keys[0].until: invalid time "soon"`,
		`name = "a"` + rest + hash + "\n[[keys]]\n" + `name = "a"` + rest + hash: `:6: keys[1].name: duplicate key "a"`,
	} {
		path := write(t, "[[keys]]\n"+text)
		_, err := config.Load(config.Overrides{File: path, Environ: map[string]string{}})
		if err == nil || !strings.Contains(err.Error(), filepath.Base(path)+want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s\n%v\nwant %s", text, err, want)
		}
	}
}

// Webhooks come from the file too, with their secrets elsewhere.
func TestDeclaredWebhooks(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	path := write(t, `
[[webhooks.targets]]
name = "shop"
url = "https://shop.example.com/dibs"
secretEnv = "SHOP_SECRET"
namespaces = "acme.*"
kinds = ["confirmed"]
description = "the shop"
from = "beginning"

[[webhooks.targets]]
name = "audit"
url = "https://audit.example.com/"
secretFile = "audit"
enabled = false
`)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "audit"), []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Overrides{File: path, Environ: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	declared, err := cfg.DeclaredWebhooks(map[string]string{"SHOP_SECRET": secret})
	if err != nil || len(declared) != 2 {
		t.Fatalf("%+v, %v", declared, err)
	}
	shop, audit := declared[0], declared[1]
	if shop.Name != "shop" || shop.Secret != secret || shop.Namespaces[0] != "acme.*" || shop.Kinds[0] != "confirmed" || !shop.Enabled || shop.From != "beginning" ||
		!strings.HasSuffix(shop.DeclaredIn, ":2") || audit.Enabled || audit.Namespaces[0] != "*" || audit.Secret != secret {
		t.Errorf("%+v", declared)
	}
	for environ, want := range map[string]string{"": "secretEnv: the variable SHOP_SECRET is not set", "hunter2": "secretEnv: is not the secret of a webhook"} {
		if _, err := cfg.DeclaredWebhooks(map[string]string{"SHOP_SECRET": environ}); err == nil || !strings.Contains(err.Error(), ":2: webhooks.targets[0]: "+want) {
			t.Errorf("%q: %v", environ, err)
		}
	}
	for text, want := range map[string]string{
		"name = \"A\"\nurl = \"https://x.example/\"\nsecretEnv = \"X\"":                        `:2: webhooks.targets[0].name: "A" is not a valid name`,
		"name = \"a\"\nurl = \"https://10.0.0.1/\"\nsecretEnv = \"X\"":                         ":3: webhooks.targets[0].url: ",
		"name = \"a\"\nurl = \"https://x.example/\"":                                           ":1: webhooks.targets[0]: must have exactly one of secretFile and secretEnv",
		"name = \"a\"\nurl = \"https://x.example/\"\nsecretEnv = \"X\"\nkinds = [\"renamed\"]": ":5: webhooks.targets[0].kinds: unknown kind of event",
		"name = \"a\"\nurl = \"https://x.example/\"\nsecret = \"hunter2\"\nsecretEnv = \"X\"":  ":4: webhooks.targets[0].secret: unknown setting",
	} {
		path := write(t, "[[webhooks.targets]]\n"+text)
		_, err := config.Load(config.Overrides{File: path, Environ: map[string]string{}})
		if err == nil || !strings.Contains(err.Error(), filepath.Base(path)+want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s\n%v\nwant %s", text, err, want)
		}
	}
}
