package config

import (
	"cmp"
	"maps"
	"os"
	"strings"
)

// Overrides are what comes from outside of the file.
type Overrides struct {
	// File is the path of the configuration file, from the command line. Empty means
	// that of DIBS_CONFIG; where there is none either, no file is read.
	File string
	// Flags are the flags that were given, by name without hyphens in front
	// ("max-stale"); see [Settings]. Nil means none.
	Flags map[string]string
	// Environ is the environment. Nil means that of the process.
	Environ map[string]string
}

// Load reads the configuration, checks it, and returns all that is wrong with it as
// [Problems]. To load it again, for the same process, call it with the same Overrides.
func Load(o Overrides) (*Config, error) {
	if o.Environ == nil {
		o.Environ = processEnvironment()
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

// loader is a configuration while it is read.
type loader struct {
	config    Config
	origins   map[string]origin // of settings that were set, by key
	problems  Problems
	file      *file // nil: there is none
	keys      blindKeys
	witnesses witnesses
}

func processEnvironment() map[string]string {
	environ := make(map[string]string)
	for _, entry := range os.Environ() {
		if name, value, ok := strings.Cut(entry, "="); ok {
			environ[name] = value
		}
	}
	return environ
}

// readSecretFiles replaces each variable that names the file of a secret by what is in
// it.
func (l *loader) readSecretFiles(environ map[string]string) map[string]string {
	environ = maps.Clone(environ)
	for _, name := range []string{"DIBS_STORE", blindKeysVariable} {
		path := environ[name+"_FILE"]
		if path == "" {
			continue
		}
		from := origin{setting: name + "_FILE"}
		if environ[name] != "" {
			l.report(from, "%s is set too: set only one of the two", name)
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
