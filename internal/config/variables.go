package config

import (
	"maps"
	"slices"
)

// readVariables reads settings from the environment. An empty variable is not set.
func (l *loader) readVariables(environ map[string]string) {
	l.overlay(environ, func(s Setting) origin {
		if environ[s.Env+"_FILE"] != "" {
			return origin{setting: s.Env + "_FILE"}
		}
		return origin{setting: s.Env}
	})
}

// readFlags reads settings from the command line, parsed like variables.
func (l *loader) readFlags(flags map[string]string) {
	values := make(map[string]string)
	for _, s := range Settings() {
		value, given := flags[s.Flag]
		if given && value == "" {
			l.report(origin{setting: "--" + s.Flag}, "is empty: give a value, or remove the flag")
		}
		values[s.Env] = value
	}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if !slices.ContainsFunc(Settings(), func(s Setting) bool { return s.Flag == name }) {
			l.report(origin{setting: "--" + name}, "unknown setting")
		}
	}
	l.overlay(values, func(s Setting) origin { return origin{setting: "--" + s.Flag} })
}

// overlay sets settings from values, by the names of variables.
func (l *loader) overlay(values map[string]string, from func(Setting) origin) {
	for _, s := range Settings() {
		if values[s.Env] == "" {
			continue
		}
		l.origins[s.Key] = from(s)
		if err := parseValue(values[s.Env], s.field(&l.config)); err != nil {
			l.report(l.origins[s.Key], "%v", err)
		}
	}
}
