package config_test

import (
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/tlsfiles"
	"github.com/calldibs/dibs/internal/tracing"
	"github.com/calldibs/dibs/internal/webhook"
	"github.com/calldibs/dibs/memstore"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Overrides{Environ: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Listen: "127.0.0.1:8080", Keyless: "local", Store: "sqlite:dibs.db", Wait: time.Minute, SweepEvery: 10 * time.Second, DrainTimeout: 20 * time.Second,
		MaxBody: 1 << 20, RequestTimeout: 15 * time.Second, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute,
		LogLevel: slog.LevelInfo, LogFormat: "text", Dashboard: "on", Suggestions: 3, Limits: limit.Defaults(), Tracing: tracing.Config{Sample: 0.01, ServiceName: "dibs"},
		TLS: tlsfiles.Files{Clients: tlsfiles.Off},
		Webhooks: config.Webhooks{Enabled: true, Config: webhook.Config{
			Timeout: 10 * time.Second, GiveUpAfter: 72 * time.Hour, Concurrency: 4, Source: "urn:dibs",
			Pauses: []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour},
		}},
	}
	got := *c
	got.Policies, got.Former, got.Default = nil, nil, dibs.Policy{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	profiles := map[string]string{"": c.Default.Profile.Name()}
	for name, p := range c.Policies {
		profiles[name] = p.Profile.Name()
	}
	if want := map[string]string{"": "exact/1", "slug": "slug/1", "username": "username/1;onescript", "email": "email/1", "hostname": "hostname/1"}; !maps.Equal(profiles, want) {
		t.Errorf("profiles %v", profiles)
	}
}

// For each setting, flags win over the environment, and the environment over the file.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	// For each setting three values, none of them the default.
	values := map[string][3]string{
		"listen": {":1", ":2", ":3"}, "keyless": {"never", "never", "never"}, "store": {"sqlite:1", "sqlite:2", "mem:"}, "maxStale": {"1s", "2s", "1d"},
		"wait":       {"1s", "2s", "0s"},
		"sweepEvery": {"1s", "2s", "0s"}, "drainTimeout": {"1s", "2s", "3s"}, "maxBody": {"2KiB", "3000", "4MiB"},
		"requestTimeout": {"1s", "2s", "1m30s"}, "readHeaderTimeout": {"1s", "2s", "3s"}, "idleTimeout": {"1s", "3s", "3m"},
		"logLevel": {"debug", "warn", "error"}, "logFormat": {"json", "json", "json"}, "dashboard": {"off", "off", "off"}, "suggestions": {"0", "1", "10"},
		"allowReserved": {"true", "true", "true"}, "allowMixedScripts": {"true", "true", "true"}, "allowLookAlikes": {"true", "true", "true"},
	}
	read := func(file, environ, flags bool) map[string]string {
		o := config.Overrides{Environ: map[string]string{}, Flags: map[string]string{}}
		var text strings.Builder
		for _, s := range config.Settings() {
			v := values[s.Key]
			if file {
				quote := `"`
				if s.Key == "suggestions" || s.Default == "false" {
					quote = ""
				}
				text.WriteString(s.Key + " = " + quote + v[0] + quote + "\n")
			}
			if environ {
				o.Environ[s.Env] = v[1]
			}
			if flags {
				o.Flags[s.Flag] = v[2]
			}
		}
		if file {
			o.Environ["DIBS_CONFIG"] = write(t, text.String())
		}
		c, err := config.Load(o)
		if err != nil {
			t.Fatal(err)
		}
		return shown(c)
	}
	for i, got := range []map[string]string{read(true, false, false), read(true, true, false), read(true, true, true)} {
		for _, s := range config.Settings() {
			if want := values[s.Key][i]; got[s.Key] != want {
				t.Errorf("source %d: %s is %s, want %s", i, s.Key, got[s.Key], want)
			}
		}
	}
}

// shown returns all settings as text.
func shown(c *config.Config) map[string]string {
	values := make(map[string]string)
	v := reflect.ValueOf(*c)
	for _, s := range config.Settings() {
		field := v.FieldByName(strings.ToUpper(s.Key[:1]) + s.Key[1:]).Interface()
		switch field := field.(type) {
		case time.Duration:
			values[s.Key] = config.FormatDuration(field)
		case slog.Level:
			values[s.Key] = strings.ToLower(field.String())
		default:
			values[s.Key] = strings.Trim(slog.AnyValue(field).String(), `"`)
		}
	}
	return values
}

func TestBadEnvironmentAndFlags(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Overrides{
		Environ: map[string]string{
			"DIBS_MAX_STALE": "soon", "DIBS_SUGGESTIONS": "many", "DIBS_LOG_LEVEL": "loud", "DIBS_MAX_BODY": "big", "DIBS_LOG_FORMAT": "xml",
			"DIBS_STORE": "mem:", "DIBS_STORE_FILE": "x", "DIBS_PORT": "tcp://10.0.0.1:80", "DIBS_LISTEN": "",
		},
		Flags: map[string]string{"listen": "nowhere", "store": "", "idle-timeout": "1", "speed": "high"},
	})
	if err == nil {
		t.Fatal("loaded")
	}
	got := strings.Split(err.Error(), "\n")
	slices.Sort(got)
	want := []string{
		`--idle-timeout: invalid duration "1": write "90s", "5m", "1h30m" or "30d"`,
		`--listen: must be an address and a port, like "127.0.0.1:8080", "[::1]:8080" or ":8080"`,
		`--speed: unknown setting`,
		`--store: is empty: give a value, or remove the flag`,
		`DIBS_LOG_FORMAT: is "xml"; it must be "text" or "json"`,
		`DIBS_LOG_LEVEL: must be "debug", "info", "warn" or "error"`,
		`DIBS_MAX_BODY: invalid size "big": write bytes, or "64KiB", "1MiB"`,
		`DIBS_MAX_STALE: invalid duration "soon": write "90s", "5m", "1h30m" or "30d"`,
		`DIBS_STORE_FILE: DIBS_STORE is also set: set only one of the two`,
		`DIBS_SUGGESTIONS: invalid number "many"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A password with characters that are special in shells and templates is not changed.
func TestStoreFromFile(t *testing.T) {
	t.Parallel()
	const address = "postgres://u:p$HOME%40${X}@h/n"
	c, err := config.Load(config.Overrides{Environ: map[string]string{"DIBS_STORE_FILE": write(t, address+"\n")}})
	if err != nil || c.Store != address {
		t.Errorf("%v, %v", c, err)
	}
}

func TestDibs(t *testing.T) {
	t.Parallel()
	c := load(t, "suggestions = 0\nsweepEvery = \"1m\"\n[default]\nmaxHolds = 7\n[policies.slug]\nmaxHolds = 8\n")
	d := c.Dibs()
	if d.Suggestions != -1 || d.SweepEvery != time.Minute || d.Default.MaxHolds != 7 || d.Policies["slug"].MaxHolds != 8 {
		t.Errorf("%+v", d)
	}
	if never := load(t, "sweepEvery = \"0s\"\n").Dibs(); never.SweepEvery >= 0 {
		t.Errorf("sweepEvery 0 becomes %v, want a negative value: no sweeper", never.SweepEvery)
	}
	reg, err := core.Open(memstore.New(memstore.Config{}), d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	// Other policies replace them while the registry is in use.
	next := load(t, "[policies.slug]\nreservedWords = { words = [\"login\"] }\n").Dibs()
	if err := reg.SetPolicies(next.Policies, next.Default); err != nil {
		t.Fatal(err)
	}
	checked, err := reg.Check(t.Context(), dibs.CheckRequest{Namespace: "slug", Values: []string{"Log In", "Logs"}})
	if err != nil || checked[0].Reason != dibs.ReasonReservedWord || !checked[1].Available {
		t.Errorf("%+v, %v", checked, err)
	}
}
