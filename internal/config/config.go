// Package config reads the configuration of a server from a TOML file, the environment and
// flags. Later sources win.
package config

import (
	"cmp"
	_ "embed"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/spelling"
	"github.com/calldibs/dibs/internal/tlsfiles"
	"github.com/calldibs/dibs/internal/tracing"
	"github.com/calldibs/dibs/profile"
)

// Values of Config.Keyless.
const (
	KeylessLocal = "local"
	KeylessNever = "never"
)

// Values of Config.Dashboard.
const (
	On  = "on"
	Off = "off"
)

// Config is the checked and complete configuration of a server. Make one with [Load], and close
// it when its policies are no longer in use.
type Config struct {
	// Listen is the address to listen on, host:port.
	Listen string
	// Keyless says which requests need no key while neither a key nor another way to sign in
	// exists: KeylessLocal means those from this machine, KeylessNever none.
	Keyless string
	// Store is the address of the store, see package engine. It may contain a password.
	Store string
	// Wait is how long the server waits at its start for a store that does not answer. Zero
	// means not at all.
	Wait time.Duration
	// MaxStale is how stale answers to resolve and check calls may be. Zero means no caching.
	MaxStale time.Duration
	// SweepEvery is the interval of sweeps. Zero means never.
	SweepEvery time.Duration
	// DrainTimeout is how long requests in flight may take at shutdown.
	DrainTimeout time.Duration
	// MaxBody is the maximum size of a request's body.
	MaxBody Size
	// RequestTimeout is how long a request may take.
	RequestTimeout time.Duration
	// ReadHeaderTimeout is how long a client may take to send the headers of a request.
	ReadHeaderTimeout time.Duration
	// IdleTimeout is how long an idle connection is kept open.
	IdleTimeout time.Duration
	// LogLevel is the minimum level of the log.
	LogLevel slog.Level
	// LogFormat is "text" or "json".
	LogFormat string
	// Dashboard is On if the server has the dashboard at /, else Off.
	Dashboard string
	// Suggestions is how many free names are offered if a name is taken. Zero means none.
	Suggestions int

	// Defaults are the checks of the built-in policies that are switched off.
	profile.Defaults

	// Routes are the scopes with stores of their own. All other scopes are in Store.
	Routes []engine.Route
	// TLS are the certificate files. Without a certificate the server uses no TLS.
	TLS tlsfiles.Files
	// Keys are the API keys that the file declares, beside those in the store.
	Keys []Key
	// OIDC are the trusted issuers of tokens.
	OIDC []auth.Issuer
	// Certificates are the accepted holders of client certificates.
	Certificates []auth.CertificateRule
	// CORSOrigins are the sites whose pages may call the API.
	CORSOrigins []string

	// Webhooks configures webhooks.
	Webhooks Webhooks
	// Tracing configures tracing. An empty endpoint turns it off.
	Tracing tracing.Config
	// Limits bound the requests of callers.
	Limits limit.Limits

	// Policies are the policies by namespace or type.
	Policies map[string]dibs.Policy
	// Default is the policy of all other namespaces.
	Default dibs.Policy

	// Former are the policies without the checks that they have only by default, and that change
	// which names are the same, by the same keys as Policies. A namespace whose names were made
	// without these checks keeps its rules.
	Former map[string]dibs.Policy

	witnesses []io.Closer // of the policies
}

// Dibs returns the configuration of the registry, without Logger and Observer.
func (c *Config) Dibs() dibs.Config {
	// In dibs.Config zero means the default, and a negative value none.
	return dibs.Config{
		Policies: c.Policies, Default: c.Default, Suggestions: cmp.Or(c.Suggestions, -1), SweepEvery: cmp.Or(c.SweepEvery, -1),
		// The queue has room for every admitted request.
		QueueSize: max(c.Limits.MaxInFlight, 4096),
	}
}

// Overrides are the sources other than the file.
type Overrides struct {
	// File is the path of the configuration file, from the command line. Empty means that of
	// DIBS_CONFIG; if that is empty too, no file is read.
	File string
	// Flags are the given flags by name, without leading hyphens ("max-stale"); see [Settings].
	// Nil means none.
	Flags map[string]string
	// Environ is the environment. Nil means that of the process.
	Environ map[string]string
	// AnyVariables ignores variables DIBS_… that nothing reads. False means that they are errors:
	// a misspelt one would have no effect.
	AnyVariables bool
}

// Load reads and checks the configuration. It returns all errors at once, as [Problems]. To reload it, call Load with the same Overrides.
func Load(o Overrides) (*Config, error) {
	if o.Environ == nil {
		o.Environ = ProcessEnvironment()
	}
	l := &loader{}
	l.config, l.settings = newConfig()
	environ := l.readSecretFiles(o.Environ)
	l.environ = environ
	l.parseFile(cmp.Or(o.File, environ["DIBS_CONFIG"]))
	l.overlayTables(environ, o.Flags)
	l.readSettings()
	l.overlay(func(s Setting) (string, origin) { return environ[s.Env], variable(environ, s.Env) })
	l.overlay(func(s Setting) (string, origin) { return o.Flags[s.Flag], origin{Setting: "--" + s.Flag} })
	l.checkFlags(o.Flags)
	l.readBlindKeys(environ)
	l.readWitnesses(environ)
	l.readRoutes()
	l.check()
	l.buildPolicies()
	if !o.AnyVariables {
		for _, line := range UnknownVariables(environ, l.named...) {
			l.report(origin{}, "%s", line)
		}
	}
	if len(l.problems) > 0 {
		l.problems.sort()
		return nil, l.problems
	}
	return l.config, nil
}

// loader holds a configuration while it is read.
type loader struct {
	config     *Config
	settings   []Setting // of config
	problems   Problems
	environ    map[string]string
	given      map[string]origin // settings in tables that the environment or a flag has set, by path
	named      []string          // variables that the file names
	path       string            // of the file; empty means none
	lines      lines             // of the file
	root       *section          // the file's top level
	keys       []dibs.BlindKey
	brokenKeys bool                    // a blind key is invalid, which was reported
	witnesses  map[string]dibs.Witness // by name; nil if it is invalid, which was reported
}

// ProcessEnvironment returns the environment of the process.
func ProcessEnvironment() map[string]string {
	environ := make(map[string]string)
	for _, entry := range os.Environ() {
		if name, value, ok := strings.Cut(entry, "="); ok {
			environ[name] = value
		}
	}
	return environ
}

// readSecretFiles sets a variable from the file that the variable with the suffix _FILE names.
func (l *loader) readSecretFiles(environ map[string]string) map[string]string {
	environ = maps.Clone(environ)
	for _, name := range []string{"DIBS_STORE", blindKeysVariable} {
		path := environ[name+"_FILE"]
		if path == "" {
			continue
		}
		switch secret, err := readSecret(path); {
		case environ[name] != "":
			l.report(variable(environ, name), "%s is also set: set only one of the two", name)
		case err != nil:
			l.report(variable(environ, name), "%v", err)
		default:
			environ[name] = secret
		}
	}
	return environ
}

// variable returns where a variable is set: in the environment, or in a file that it names.
func variable(environ map[string]string, name string) origin {
	if environ[name+"_FILE"] != "" {
		name += "_FILE"
	}
	return origin{Setting: name}
}

// overlay sets the settings for which a later source has a text. Variables and flags are parsed
// alike, and an empty one is not set.
func (l *loader) overlay(source func(Setting) (text string, from origin)) {
	for i, s := range l.settings {
		text, from := source(s)
		if text == "" {
			continue
		}
		l.settings[i].from = from
		if err := parseValue(text, s.field); err != nil {
			l.report(from, "%v", err)
		}
	}
}

// checkFlags reports flags that are empty or unknown.
func (l *loader) checkFlags(flags map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		switch {
		case !slices.Contains(flagNames(), name):
			l.report(origin{Setting: "--" + name}, "unknown setting%s", spelling.Hint(name, flagNames()))
		case flags[name] == "":
			l.report(origin{Setting: "--" + name}, "is empty: give a value, or remove the flag")
		}
	}
}

// flagNames returns the names of all flags that are settings.
func flagNames() (names []string) {
	for _, s := range Settings() {
		names = append(names, s.Flag)
	}
	for _, s := range TableSettings() {
		names = append(names, s.Flag)
	}
	return names
}

// Sample is a configuration file with every setting commented out. It is a copy of
// dibs.sample.toml in the root of the repository.
//
//go:embed dibs.sample.toml
var Sample string
