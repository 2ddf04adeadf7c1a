package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/config"
)

var update = flag.Bool("update", false, "write the golden files, and copy the sample from the root")

const rootSample = "../../dibs.sample.toml"

// The embedded sample is a copy of the one in the root.
func TestSampleIsACopy(t *testing.T) {
	root, err := os.ReadFile(rootSample)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("dibs.sample.toml", root, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(root) != config.Sample {
		t.Error("the two samples differ: change the one at the root, and run the test with -update")
	}
}

// enabled returns the sample with all settings enabled: their # is not followed by a space.
func enabled() string {
	var b strings.Builder
	for line := range strings.Lines(config.Sample) {
		if len(line) > 1 && line[0] == '#' && line[1] != ' ' && line[1] != '\n' {
			line = line[1:]
		}
		b.WriteString(line)
	}
	return b.String()
}

// The sample has the defaults, with its settings commented out and enabled.
func TestSampleHasTheDefaults(t *testing.T) {
	t.Parallel()
	want := load(t, "")
	for name, text := range map[string]string{"as it is": config.Sample, "enabled": enabled()} {
		got := load(t, text)
		gotPolicies, wantPolicies := effective(got), effective(want)
		if !reflect.DeepEqual(gotPolicies, wantPolicies) {
			t.Errorf("%s: policies\n%+v\nwant\n%+v", name, gotPolicies, wantPolicies)
		}
		plainGot, plainWant := *got, *want
		plainGot.Policies, plainGot.Former, plainGot.Default = nil, nil, dibs.Policy{}
		plainWant.Policies, plainWant.Former, plainWant.Default = nil, nil, dibs.Policy{}
		if !reflect.DeepEqual(plainGot, plainWant) {
			t.Errorf("%s: %+v\nwant %+v", name, plainGot, plainWant)
		}
	}
}

// effective returns all policies with their defaults, and the profile by its name.
func effective(c *config.Config) map[string]any {
	policies := make(map[string]any)
	for name, p := range c.Policies {
		policies[name] = describe(p)
	}
	policies["(default)"] = describe(c.Default)
	return policies
}

func describe(p dibs.Policy) any {
	profile := p.Profile.Name()
	p.Profile = nil
	set(&p.MinTTL, dibs.DefaultMinTTL)
	set(&p.DefaultTTL, dibs.DefaultTTL)
	set(&p.MaxTTL, dibs.DefaultMaxTTL)
	set(&p.MaxHold, dibs.DefaultMaxHold)
	set(&p.HoldHistory, dibs.DefaultHoldHistory)
	set(&p.RedirectStatus, dibs.DefaultRedirectStatus)
	set(&p.ArchivedStatus, dibs.DefaultArchivedStatus)
	return [2]any{profile, p}
}

func set[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// Every setting is in the sample and in the documentation, and the sample has no others.
func TestEverySettingIsDescribed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range config.Settings() {
		if !strings.Contains(enabled(), "\n"+s.Key+" = ") {
			t.Errorf("%s is not in the sample", s.Key)
		}
		row := "| `" + s.Key + "` | `" + s.Env + "` | `--" + s.Flag + "` | `" + s.Default + "` |"
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/configuration.md has no row %s", row)
		}
	}
	for _, key := range append(policyKeys(t), "blindKeys", "reads", "writes", "checks", "perAddress", "signIn", "maxInFlight", "maxWaiting", "maxWait", "maxStreams", "maxConnections", "trustedProxies", "forwardedHeader", "endpoint", "sample", "serviceName", "headers", "headersFile", "witnesses", "corsOrigins", "oidc", "certificates", "certificate", "clientCA", "clientCertificates", "minVersion", "DIBS_STORE_FILE", "DIBS_BLIND_KEYS", "DIBS_BLIND_KEYS_FILE", "DIBS_CONFIG") {
		if !strings.Contains(string(page), "`"+key+"`") {
			t.Errorf("docs/configuration.md does not describe %s", key)
		}
		if !strings.HasPrefix(key, "DIBS_") && !strings.Contains(enabled(), "\n"+key+" = ") {
			t.Errorf("%s is not in the sample", key)
		}
	}
}

// policyKeys returns the settings of a policy, from the error for an unknown one.
func policyKeys(t *testing.T) []string {
	t.Helper()
	problems := problems(t, "[default]\nnothing = 1\n")
	_, list, found := strings.Cut(problems[0].Message, "use one of ")
	if !found {
		t.Fatal(problems)
	}
	return strings.Split(list, ", ")
}

// write writes a file to a folder of its own and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dibs.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load loads a file, without any environment.
func load(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Load(config.Overrides{File: write(t, text), Environ: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// problems loads an invalid file.
func problems(t *testing.T, text string) config.Problems {
	t.Helper()
	_, err := config.Load(config.Overrides{File: write(t, text), Environ: map[string]string{}})
	list, ok := err.(config.Problems) //nolint:errorlint // it is never wrapped
	if !ok {
		t.Fatalf("loaded with %v", err)
	}
	return list
}
