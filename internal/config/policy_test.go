package config_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/config"
)

const day = 24 * time.Hour

func TestEverythingInAPolicy(t *testing.T) {
	t.Parallel()
	p := load(t, `
[policies."acme.handle"]
profile = "username"
profileOptions = { minLength = 3, maxLength = 20 }
oneScript = true
minTTL = "2s"
defaultTTL = "3m"
maxTTL = "4h"
maxHold = "5d"
maxHolds = 6
holdHistory = "7d"
manyPerEntity = true
quarantine = "8d"
aliasRetention = "9d"
redirectStatus = 308
archivedStatus = 410
reservedWords = { lists = ["roles"], words = ["acme"], patterns = ["x-*"], except = ["staff"], lookAlikes = true }
confusables = true
`).Policies["acme.handle"]
	if p.MinTTL != 2*time.Second || p.DefaultTTL != 3*time.Minute || p.MaxTTL != 4*time.Hour || p.MaxHold != 5*day || p.MaxHolds != 6 ||
		p.HoldHistory != 7*day || !p.ManyPerEntity || p.Quarantine != 8*day || p.AliasRetention != 9*day || p.RedirectStatus != 308 || p.ArchivedStatus != 410 {
		t.Errorf("%+v", p)
	}
	if name := p.Profile.Name(); name != "username/1;min=3;max=20;onescript" {
		t.Errorf("profile %s", name)
	}
	if p.Skeleton == nil || p.Blind != nil {
		t.Errorf("skeleton %v, blind %v", p.Skeleton, p.Blind)
	}
	for word, want := range map[string]bool{"admin": true, "adm1n": true, "acme": true, "x-ray": true, "staff": false, "login": false, "bob": false} {
		if p.ReservedWords.Reserved(word) != want {
			t.Errorf("%s is reserved: %v", word, !want)
		}
	}
}

// A namespace inherits from its type, and a type from the default; profiles go by type.
func TestPolicyInheritance(t *testing.T) {
	t.Parallel()
	c := load(t, `
[default]
profile = "username"
profileOptions = { maxLength = 30 }
quarantine = "1d"
maxHolds = 1
aliasRetention = "1d"
reservedWords.words = ["admin"]
[policies.slug]
quarantine = "2d"
profileOptions = { maxLength = 40 }
[policies."acme.slug"]
maxHolds = 3
aliasRetention = "forever"
[policies."acme.plain"]
profile = "exact"
reservedWords = {}
[policies."acme.email"]
profileOptions = { providers = ["all"] }
[policies.code]
confusables = true
[policies."acme.eu.code"]
confusables = false
`)
	for name, want := range map[string]struct {
		profile    string
		quarantine time.Duration
		maxHolds   int
		retention  time.Duration
		reserved   bool
		skeleton   bool
	}{
		"(default)":    {"username/1;max=30", day, 1, day, true, false},
		"username":     {"username/1;onescript", day, 1, day, true, true},
		"slug":         {"slug/1;max=40", 2 * day, 1, day, true, false},
		"acme.slug":    {"slug/1;max=40", 2 * day, 3, 0, true, false},
		"acme.plain":   {"exact/1", day, 1, day, false, false},
		"email":        {"email/1", day, 1, day, true, false},
		"acme.email":   {"email/1;gmail;outlook;icloud;yahoo;fastmail;proton", day, 1, day, true, false},
		"code":         {"username/1;max=30", day, 1, day, true, true},
		"acme.eu.code": {"username/1;max=30", day, 1, day, true, false},
	} {
		p, ok := c.Policies[name]
		if name == "(default)" {
			p, ok = c.Default, true
		}
		reserved := ok && p.ReservedWords != nil && p.ReservedWords.Reserved("admin")
		if !ok || p.Profile.Name() != want.profile || p.Quarantine != want.quarantine || p.MaxHolds != want.maxHolds ||
			p.AliasRetention != want.retention || reserved != want.reserved || (p.Skeleton != nil) != want.skeleton {
			t.Errorf("%s: %+v, reserved %v, want %+v", name, p, reserved, want)
		}
	}
}

// A bound that is set alone adjusts the others, as in package dibs.
func TestOneBoundAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"maxTTL = \"1m\"", "minTTL = \"1h\"", "maxHold = \"10s\"", "defaultTTL = \"500ms\""} {
		load(t, "[policies.slug]\n"+text+"\n")
	}
}

func TestBlindKeys(t *testing.T) {
	t.Parallel()
	secret := func(b byte) []byte { return bytes.Repeat([]byte{b, 0xfe}, 16) }
	folder := t.TempDir()
	file := filepath.Join(folder, "dibs.toml")
	for name, text := range map[string]string{
		"secrets/k3": base64.StdEncoding.EncodeToString(secret(3)) + "\n",
		"dibs.toml": `
[[blindKeys]]
id = "k4"
secret = "` + hex.EncodeToString(secret(4)) + `"
[[blindKeys]]
id = "k3"
secretFile = "secrets/k3"
[[blindKeys]]
id = "k2"
secretEnv = "OLD_KEY"
[policies.email]
blind = true
`,
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ := map[string]string{"OLD_KEY": base64.RawURLEncoding.EncodeToString(secret(2))}
	check := func(want ...dibs.BlindKey) {
		t.Helper()
		c, err := config.Load(config.Overrides{File: file, Environ: environ})
		if err != nil {
			t.Fatal(err)
		}
		got := c.Policies["email"].Blind
		if len(got) != len(want) || len(c.Policies["slug"].Blind) > 0 {
			t.Fatalf("%d keys", len(got))
		}
		for i, k := range got {
			if k.ID != want[i].ID || !bytes.Equal(k.Secret, want[i].Secret) {
				t.Errorf("key %d is %s with other bytes", i, k)
			}
		}
	}
	check(dibs.BlindKey{ID: "k4", Secret: secret(4)}, dibs.BlindKey{ID: "k3", Secret: secret(3)}, dibs.BlindKey{ID: "k2", Secret: secret(2)})
	environ["DIBS_BLIND_KEYS"] = "b:" + hex.EncodeToString(secret(9)) + ", a:" + base64.URLEncoding.EncodeToString(secret(8))
	check(dibs.BlindKey{ID: "b", Secret: secret(9)}, dibs.BlindKey{ID: "a", Secret: secret(8)})
	environ["DIBS_BLIND_KEYS_FILE"] = write(t, environ["DIBS_BLIND_KEYS"]+"\n")
	delete(environ, "DIBS_BLIND_KEYS")
	check(dibs.BlindKey{ID: "b", Secret: secret(9)}, dibs.BlindKey{ID: "a", Secret: secret(8)})
}

// The types with a built-in policy have its checks, until a setting or their own table switches
// one off. The former policy is the one without the checks that nothing but the default switched on.
func TestSafeDefaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ rules, former, reserved string }{
		"":                         {"username/1;onescript uts39/17;2", "username/1", "username slug hostname"},
		"allowReserved = true":     {"username/1;onescript uts39/17;2", "username/1", ""},
		"allowMixedScripts = true": {"username/1 uts39/17;2", "username/1", "username slug hostname"},
		"allowLookAlikes = true":   {"username/1;onescript", "username/1", "username slug hostname"},
		"[default]\noneScript = false\nconfusables = false\nreservedWords = {}": {"username/1;onescript uts39/17;2", "username/1", "username slug hostname"},
		"[default]\noneScript = true":                                           {"username/1;onescript uts39/17;2", "username/1;onescript", "username slug hostname"},
		"[policies.username]\noneScript = false":                                {"username/1 uts39/17;2", "username/1", "username slug hostname"},
		"[policies.username]\noneScript = true":                                 {"username/1;onescript uts39/17;2", "username/1;onescript", "username slug hostname"},
		"[policies.username]\nconfusables = false":                              {"username/1;onescript", "username/1", "username slug hostname"},
		"[policies.username]\nconfusables = true":                               {"username/1;onescript uts39/17;2", "username/1 uts39/17;2", "username slug hostname"},
		"[policies.username]\nreservedWords = {}":                               {"username/1;onescript uts39/17;2", "username/1", "slug hostname"},
		"[policies.slug]\nreservedWords = { words = ['acme'] }":                 {"username/1;onescript uts39/17;2", "username/1", "username hostname"},
		"[policies.username]\nprofileOptions = { minLength = 3 }":               {"username/1;min=3;onescript uts39/17;2", "username/1;min=3", "username slug hostname"},
	} {
		c := load(t, text)
		rules := func(p dibs.Policy) string {
			if p.Skeleton == nil {
				return p.Profile.Name()
			}
			return p.Profile.Name() + " " + p.Skeleton.Name()
		}
		if got := rules(c.Policies["username"]); got != want.rules {
			t.Errorf("%q: the rules are %s, want %s", text, got, want.rules)
		}
		if got := rules(c.Former["username"]); got != want.former {
			t.Errorf("%q: the former rules are %s, want %s", text, got, want.former)
		}
		var reserved []string
		for _, kind := range []string{"username", "slug", "hostname", "email"} {
			if words := c.Policies[kind].ReservedWords; words != nil && words.Reserved("admin") {
				reserved = append(reserved, kind)
			}
		}
		if got := strings.Join(reserved, " "); got != want.reserved {
			t.Errorf("%q: admin is reserved in %s, want %s", text, got, want.reserved)
		}
	}
}
