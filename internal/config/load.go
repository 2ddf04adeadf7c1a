package config

import (
	"cmp"
	"maps"
	"os"
	"strings"

	"github.com/calldibs/dibs"
)

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
}

// Load reads and checks the configuration. It returns all errors at once, as [Problems]. To reload it, call Load with the same Overrides.
func Load(o Overrides) (*Config, error) {
	if o.Environ == nil {
		o.Environ = ProcessEnvironment()
	}
	l := &loader{config: defaults(), origins: make(map[string]origin)}
	environ := l.readSecretFiles(o.Environ)
	l.readFile(cmp.Or(o.File, environ["DIBS_CONFIG"]))
	l.readVariables(environ)
	l.readFlags(o.Flags)
	l.readBlindKeys(environ)
	l.readWitnesses(environ)
	l.readRoutes()
	l.check()
	l.buildPolicies()
	if len(l.problems) > 0 {
		l.problems.sort()
		return nil, l.problems
	}
	return &l.config, nil
}

// loader holds a configuration while it is read.
type loader struct {
	config    Config
	origins   map[string]origin // where settings were set, by key
	problems  Problems
	file      *file // nil means none
	keys      blindKeys
	witnesses map[string]dibs.Witness // by name; nil if it is invalid, which was reported
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
		from := origin{setting: name + "_FILE"}
		if environ[name] != "" {
			l.report(from, "%s is also set: set only one of the two", name)
			continue
		}
		secret, err := readSecret(path)
		if err != nil {
			l.report(from, "%v", err)
			continue
		}
		environ[name] = secret
	}
	return environ
}
