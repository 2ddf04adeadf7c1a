package config_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/calldibs/dibs/internal/config"
)

// structured are the tables and lists of tables of the file, whose elements have settings of their
// own. Everything else is a flag.
var structured = []string{"blindKeys", "certificates", "default", "keys", "oidc", "policies", "routes", "tracing.headers", "webhooks.targets", "witnesses"}

// Every setting of the file is a flag and a variable, with its default in the help, and is in
// docs/configuration.md.
func TestEverySettingIsAFlag(t *testing.T) {
	t.Parallel()
	var sample map[string]any
	if err := toml.Unmarshal([]byte(enabled()), &sample); err != nil {
		t.Fatal(err)
	}
	values := make(map[string]string)
	for name, value := range sample {
		if table, ok := value.(map[string]any); ok && !slices.Contains(structured, name) {
			for key, value := range table {
				values[name+"."+key] = asFlag(value)
			}
		} else {
			values[name] = asFlag(value)
		}
	}
	for _, path := range structured {
		if _, ok := values[path]; !ok {
			t.Errorf("%s is not in the sample", path)
		}
		delete(values, path)
	}
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	flags, variables := make(map[string]bool), make(map[string]bool)
	check := func(path, flag, env, byDefault, about string) {
		if value, ok := values[path]; !ok || value != byDefault {
			t.Errorf("%s is %q in the sample, and %q by default", path, value, byDefault)
		}
		delete(values, path)
		if flags[flag] || variables[env] || about == "" {
			t.Errorf("%s: --%s or %s is not unique, or has no help", path, flag, env)
		}
		flags[flag], variables[env] = true, true
		if key := path[strings.LastIndexByte(path, '.')+1:]; !strings.Contains(string(page), "`"+key+"`") {
			t.Errorf("docs/configuration.md has no %s", path)
		}
	}
	for _, s := range config.Settings() {
		check(s.Key, s.Flag, s.Env, s.Default, s.About)
		if !strings.Contains(string(page), fmt.Sprintf("| `%s` | `%s` | `--%s` |", s.Key, s.Env, s.Flag)) {
			t.Errorf("docs/configuration.md has no line of %s, %s and --%s", s.Key, s.Env, s.Flag)
		}
	}
	for _, s := range config.TableSettings() {
		check(s.Path, s.Flag, s.Env, s.Default, s.About)
	}
	if len(values) > 0 {
		t.Errorf("not a flag: %v", slices.Sorted(maps.Keys(values)))
	}
}

// asFlag returns a value of the file as a flag.
func asFlag(value any) string {
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	var parts []string
	for _, part := range list {
		parts = append(parts, fmt.Sprint(part))
	}
	return strings.Join(parts, ",")
}

// Settings in tables come from the environment and from flags, too, which win; their errors name
// their source.
func TestTableSettings(t *testing.T) {
	t.Parallel()
	path := write(t, "[limits]\nreads = \"100/s\"\nwrites = \"100/s\"\nchecks = \"500/s\"\n[tls]\nkey = \"file.key\"\ncertificate = \"file.crt\"\n")
	cfg, err := config.Load(config.Overrides{
		File: path,
		Environ: map[string]string{
			"DIBS_LIMITS_WRITES": "200/s", "DIBS_LIMITS_CHECKS": "200/s", "DIBS_LIMITS_TRUSTED_PROXIES": "10.0.0.0/8, 192.168.0.1",
			"DIBS_WEBHOOKS_ENABLED": "false", "DIBS_TRACING_SAMPLE": "0.5", "DIBS_TLS_KEY": "here.key", "DIBS_CORS_ORIGINS": "https://a.example",
		},
		Flags: map[string]string{"limits-checks": "300/s", "limits-max-in-flight": "7", "webhooks-pauses": "1s,2s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(cfg.Limits.Reads, cfg.Limits.Writes, cfg.Limits.Checks, cfg.Limits.MaxInFlight, cfg.Limits.Proxies.Trusted,
		cfg.Webhooks.Enabled, cfg.Webhooks.Pauses, cfg.Tracing.Sample, cfg.CORSOrigins, cfg.TLS.Key)
	if want := "100/s 200/s 300/s 7 [10.0.0.0/8 192.168.0.1/32] false [1s 2s] 0.5 [https://a.example]here.key"; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("it is %s, want %s", got, want)
	}
	if !strings.HasSuffix(cfg.TLS.Certificate, "/file.crt") {
		t.Errorf("the certificate is %s", cfg.TLS.Certificate)
	}
	_, err = config.Load(config.Overrides{
		Environ: map[string]string{"DIBS_LIMITS_READS": "fast", "DIBS_WEBHOOKS_ENABLED": "yes", "DIBS_LIMITS_TRUSTED_PROXIES": "x"},
		Flags:   map[string]string{"limits-max-streams": "many", "tracing-sample": "all", "limits-read": "1/s", "tls-min-version": "1.1"},
	})
	for _, want := range []string{
		"DIBS_LIMITS_READS: ", "DIBS_WEBHOOKS_ENABLED: is \"yes\"; it must be true or false", "DIBS_LIMITS_TRUSTED_PROXIES: \"x\" is neither",
		"--limits-max-streams: invalid number \"many\"", "--tracing-sample: must be a number", "--limits-read: unknown setting; did you mean limits-reads?",
		"--tls-min-version: is \"1.1\"",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}

// A variable that nothing reads is an error, with the one that was meant; those of clients,
// platforms and tests, and those that the file names, are not.
func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	path := write(t, "[[blindKeys]]\nid = \"k1\"\nsecretEnv = \"DIBS_MY_BLIND_KEY\"\n[[keys]]\nname = \"a\"\nsecretEnv = \"DIBS_OUR_KEY\"\ngrants = [{ may = \"read\", in = \"*\" }]\n")
	fine := map[string]string{
		"DIBS_MY_BLIND_KEY": strings.Repeat("ab", 32), "DIBS_OUR_KEY": "x", "DIBS_SERVER": "http://x", "DIBS_KEY": "x", "DIBS_LISTEN": ":1",
		"DIBS_PORT": "tcp://10.0.0.1:80", "DIBS_SERVICE_HOST": "10.0.0.1", "DIBS_SERVICE_PORT_HTTP": "80", "DIBS_PORT_8080_TCP_ADDR": "10.0.0.1",
		"DIBS_DB_SERVICE_PORT": "5432", "DIBS_TEST_LONG": "1", "DIBS_SERVETEST_CHILD": "1", "DIBS_LISEN": "", "HOME": "/",
	}
	if _, err := config.Load(config.Overrides{File: path, Environ: fine}); err != nil {
		t.Error(err)
	}
	wrong := map[string]string{"DIBS_LISEN": ":1", "DIBS_LISTEN_PORT": "8080", "DIBS_MAXSTALE": "1s", "DIBS_LIMIT_READS": "1/s", "DIBS_COLOUR": "red"}
	_, err := config.Load(config.Overrides{Environ: wrong})
	const want = "DIBS_COLOUR: unknown variable\n" +
		"DIBS_LIMIT_READS: unknown variable; did you mean DIBS_LIMITS_READS?\n" +
		"DIBS_LISEN: unknown variable; did you mean DIBS_LISTEN?\n" +
		"DIBS_LISTEN_PORT: unknown variable\n" +
		"DIBS_MAXSTALE: unknown variable; did you mean DIBS_MAX_STALE?"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
	if _, err := config.Load(config.Overrides{Environ: wrong, AnyVariables: true}); err != nil {
		t.Error(err)
	}
}
